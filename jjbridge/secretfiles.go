package jjbridge

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/internal/jjbridge/gitindex"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// SecretSearch finds files with secrets. A capture leaves out such a file if the user's version control does not have it, and
// otherwise warns about it.
type SecretSearch struct {
	// Rules names the rules of the search, and is not empty. Searches with the same name find the same, so a capture does
	// not search what the last capture has searched by these rules.
	Rules string
	// Named reports whether a file is named like a file of secrets.
	Named func(path string) bool
	// Find returns the rule of a secret in the content of a file, as git or jj stores the file.
	Find func(path string, content []byte) (rule string, found bool)
}

const (
	// maxSearched is the size in bytes above which no content is searched.
	maxSearched = 64 << 20
	// maxRemembered is the number of tracked files whose warnings are remembered although the capture has not read them.
	maxRemembered = 1000
	// maxTold is the number of files that get a warning each. More files share one warning.
	maxTold = 3
)

// secretFiles are the files with secrets that one capture knows.
type secretFiles struct {
	search *SecretSearch                  // nil if nothing is searched
	last   gitindex.SearchedFiles         // of the last capture
	before map[string]gitindex.SecretFile // last.Found, by escaped path
	found  map[string]gitindex.SecretFile // of this capture, by escaped path
	clean  map[string]bool                // escaped paths of files that this capture has searched and that have no secret
}

// newSecretFiles returns the secretFiles of a capture that has found nothing yet. last is the result of the last capture.
func newSecretFiles(search *SecretSearch, last gitindex.SearchedFiles) *secretFiles {
	s := &secretFiles{
		search: search, last: last, before: make(map[string]gitindex.SecretFile),
		found: make(map[string]gitindex.SecretFile), clean: make(map[string]bool),
	}
	for _, file := range last.Found {
		s.before[file.Path] = file
	}
	return s
}

// searched reports whether the last capture has searched its files by the rules of this capture, or this capture searches
// nothing.
func (s *secretFiles) searched() bool { return s.search == nil || s.last.Rules == s.search.Rules }

// known returns the rule of the secret that the last capture has found in the file at path. out is true if the last capture
// left the file out, so that its content is not stored.
func (s *secretFiles) known(path string) (rule string, out, found bool) {
	file, found := s.before[snapshot.EscapePath(path)]
	return file.Rule, file.Out, found
}

// isNamed reports whether the file at path is named like a file of secrets. If nothing is searched, isNamed returns false.
func (s *secretFiles) isNamed(path string) bool { return s.search != nil && s.search.Named(path) }

// add records the file at path, in which rule has found a secret. A rule "" means the file's name. out is true if the capture
// leaves the file out. If nothing is searched, add does nothing.
func (s *secretFiles) add(path, rule string, out bool) {
	if s.search == nil {
		return
	}
	name := snapshot.EscapePath(path)
	s.found[name] = gitindex.SecretFile{Path: name, Rule: cmp.Or(rule, s.found[name].Rule), Out: out}
}

// keep records the tracked file at path if its name, or a search of the last capture, says that it has a secret.
func (s *secretFiles) keep(path string) {
	if rule, _, found := s.known(path); found || s.isNamed(path) {
		s.add(path, rule, false)
	}
}

// look searches content, which is about to be stored for the file at path, and reports whether the capture leaves the file
// out. tracked is true if the user's version control has the file.
func (s *secretFiles) look(path string, content []byte, tracked bool) (out bool) {
	if s.search == nil || len(content) > maxSearched {
		return false
	}
	rule, found := s.search.Find(path, content)
	if !found {
		s.clean[snapshot.EscapePath(path)] = true
		return false
	}
	s.add(path, rule, !tracked)
	return !tracked
}

// result returns what the next capture needs to know. tree is the searched tree of a jj workspace, or zero. all is true if
// the capture has looked at all files. Files that the capture has not looked at stay known, so that no warning comes twice.
func (s *secretFiles) result(tree objstore.ID, all bool) gitindex.SearchedFiles {
	out := gitindex.SearchedFiles{Tree: tree}
	for _, name := range slices.Sorted(maps.Keys(s.before)) {
		file := s.before[name]
		_, known := s.found[name]
		if !known && !s.clean[name] && (!file.Out || !all || s.search == nil) && len(s.found) < maxRemembered {
			s.found[name] = file
		}
	}
	if s.search != nil {
		out.Rules = s.search.Rules
	}
	for _, name := range slices.Sorted(maps.Keys(s.found)) {
		out.Found = append(out.Found, s.found[name])
	}
	return out
}

// warn calls warn for each file with a secret, unless the last capture has warned of the file.
func (s *secretFiles) warn(warn func(error)) {
	told := make(map[bool]int) // by SecretFile.Out
	for _, name := range slices.Sorted(maps.Keys(s.found)) {
		file := s.found[name]
		if was, known := s.before[name]; known && was.Out == file.Out {
			continue
		}
		if told[file.Out]++; told[file.Out] <= maxTold {
			warn(secretWarning(file))
		}
	}
	if more := told[true] - maxTold; more > 0 {
		warn(fmt.Errorf("left out %d more files with secrets", more))
	}
	if more := told[false] - maxTold; more > 0 {
		warn(fmt.Errorf("frames have %d more tracked files with secrets", more))
	}
}

// secretWarning returns the warning about a file with a secret.
func secretWarning(file gitindex.SecretFile) error {
	reason := "it is named like a file of secrets"
	if file.Rule != "" {
		reason = "it has a secret (" + file.Rule + ")"
	}
	if file.Out {
		return fmt.Errorf("left out %s: %s", file.Path, reason)
	}
	return fmt.Errorf("%s is tracked, so frames have it: %s", file.Path, reason)
}

// leaveSecret records the untracked file at path as left out, because rule has found a secret in it. A rule "" means the
// file's name.
func (c *filesCapture) leaveSecret(path, rule string) {
	c.secrets.add(path, rule, true)
	c.left.add(path, snapshot.LeftSecret, 0) // no size, because a size would make every capture differ
}

// searchRead searches the files at paths, which git has read into the quarantine. It returns the paths of the files that the
// capture takes, and removes from the quarantine what these files do not need: files with secrets, and contents that git
// has read before a file changed. now is the index into which git has read the files.
func (c *filesCapture) searchRead(chosen *choice, now *gitindex.Index, paths []string) (_ []string, err error) {
	if c.secrets.search == nil {
		return paths, nil
	}
	read, err := openObjects(c.w.Repo, c.q.Dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, read.Close()) }()
	var taken []string
	wanted := make(map[objstore.ID]bool)
	for _, path := range paths {
		i, found := now.Find(path)
		if !found || c.left.failed[path] {
			taken = append(taken, path)
			continue
		}
		e := now.Entries[i]
		var content []byte
		if e.Mode == objstore.ModeFile || e.Mode == objstore.ModeExecutable {
			if content, err = c.content(read, e.ID); err != nil {
				return nil, err
			}
		}
		if c.secrets.look(path, content, chosen.wanted[path].tracked) {
			c.left.add(path, snapshot.LeftSecret, 0)
			continue
		}
		taken, wanted[e.ID] = append(taken, path), true
	}
	return taken, c.q.Keep(wanted)
}

// content returns the content of a blob in the store read or in the repository. It returns nil if only git can read the blob,
// or if the blob is larger than maxSearched.
func (c *filesCapture) content(read *objstore.Store, id objstore.ID) ([]byte, error) {
	_, data, err := read.GetAtMost(id, maxSearched)
	if errors.Is(err, objstore.ErrNotFound) {
		_, data, err = objstore.GetAtMost(c.objects, id, maxSearched)
	}
	// A blob that is too large counts as damaged. A blob that is damaged indeed fails when the capture is stored.
	if errors.Is(err, objstore.ErrNotFound) || errors.Is(err, objstore.ErrCorrupt) {
		return nil, nil
	}
	return data, err
}
