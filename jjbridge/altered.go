package jjbridge

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/jjbridge/gitindex"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// contentRules are the user's settings and attributes that decide how git stores the content of
// files, and how a checkout writes it.
type contentRules struct {
	config    gitexec.Config
	root      string // of the working copy
	commonDir string
	env       []string
}

func newContentRules(w *Workspace) contentRules {
	return contentRules{config: w.Repo.Config, root: w.Root, commonDir: w.Repo.CommonDir, env: w.env}
}

func (r contentRules) full(path string) string {
	return filepath.Join(r.root, filepath.FromSlash(path))
}

// altered returns the captured files, sorted by path, whose bytes a checkout of the captured tree would
// change on a machine without the user's filters. now is the private index after the capture, root the id of
// its tree, and read the paths that git read in this capture. If the result of the last capture still
// applies, altered reads only the files in read; if no attribute or setting changes files, it reads no file.
// It stores the result in the private index's state.
func (c *filesCapture) altered(ctx context.Context, now *gitindex.Index, root objstore.ID, read []string) ([]snapshot.Altered, error) {
	if c.git.gitDir != "" {
		return nil, nil // this git stores and writes files byte for byte
	}
	rules := newContentRules(c.w).sum(now)
	if rules == "" {
		return nil, nil
	}
	known := c.source.state.Altered
	var kept []snapshot.Altered
	if known.Rules == rules && known.Tree == c.source.trees.Root.String() {
		again := make(map[string]bool, len(read))
		for _, path := range read {
			again[path] = true
		}
		for _, a := range known.Files {
			if _, found := now.Find(a.Path); found && !again[a.Path] {
				kept = append(kept, a)
			}
		}
	} else {
		read = nil
		for _, e := range now.Entries {
			read = append(read, e.Path)
		}
	}
	fresh, err := c.compareStored(ctx, now, read)
	if err != nil {
		return nil, err
	}
	files := append(kept, fresh...)
	slices.SortFunc(files, func(a, b snapshot.Altered) int { return cmp.Compare(a.Path, b.Path) })
	state := gitindex.AlteredFiles{Rules: rules, Tree: root.String(), Files: files}
	if state.Rules == known.Rules && state.Tree == known.Tree && slices.Equal(state.Files, known.Files) {
		return files, nil
	}
	c.source.state.Altered = state
	return files, c.p.WriteState(c.source.state)
}

// alteredRules is the version of compareStored's rules. A list that another version stored is computed anew.
const alteredRules = "2"

// sum returns a hash of the attributes and settings that decide how git stores and checks out files, and of
// alteredRules. now is the index whose .gitattributes files count. The result is "" if there is no file of
// attributes and core.autocrlf is off.
func (r contentRules) sum(now *gitindex.Index) string {
	sum := sha1.New()
	sum.Write([]byte(alteredRules))
	found := false
	add := func(name string, value []byte) {
		found = true
		sum.Write(fmt.Appendf(nil, "%q %q\n", name, value))
	}
	for _, e := range now.Entries {
		if path.Base(e.Path) == ".gitattributes" {
			add(e.Path, e.ID.Bytes())
		}
	}
	for _, name := range r.attributeFiles() {
		if data, err := os.ReadFile(name); err == nil {
			add(name, data)
		}
	}
	if auto := r.autoCRLF(); auto != autoCRLFOff {
		add("core.autocrlf", []byte(auto))
	}
	if !found {
		return ""
	}
	for _, key := range slices.Sorted(maps.Keys(r.config)) {
		if strings.HasPrefix(key, "filter.") || key == "core.eol" {
			value, _ := r.config.Get(key)
			add(key, []byte(value))
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// attributeFiles returns the paths of the files, besides those in the index, in which git looks for
// attributes: the top .gitattributes, info/attributes and the user's own file. The files may be missing.
func (r contentRules) attributeFiles() []string {
	files := []string{r.full(".gitattributes"), filepath.Join(r.commonDir, "info", "attributes")}
	home, _ := gitexec.LookupEnv(r.env, "HOME")
	if name, ok := r.config.Get("core.attributesfile"); ok {
		if rest, ok := strings.CutPrefix(name, "~/"); ok {
			name = filepath.Join(home, rest)
		}
		return append(files, name)
	}
	folder, _ := gitexec.LookupEnv(r.env, "XDG_CONFIG_HOME")
	return append(files, filepath.Join(cmp.Or(folder, filepath.Join(home, ".config")), "git", "attributes"))
}

// compareStored returns the files at paths whose bytes a checkout of the index now would change. Each result
// names the rule that changes the file.
func (c *filesCapture) compareStored(ctx context.Context, now *gitindex.Index, paths []string) ([]snapshot.Altered, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	out, err := c.w.gitWith(ctx, gitRun{
		args: append([]string{"check-attr", "-z", "--stdin"}, contentAttributes()...), env: []string{"GIT_INDEX_FILE=" + c.p.IndexPath()},
		stdin: strings.NewReader(strings.Join(paths, "\x00") + "\x00"),
	})
	if err != nil {
		return nil, err
	}
	rules := newContentRules(c.w)
	fields := splitPaths(out)
	var altered []snapshot.Altered
	var ask []askedFile
	for step := 3 * len(contentAttributes()); len(fields) >= step; fields = fields[step:] {
		has := make(attributes)
		for i := range contentAttributes() {
			if value := fields[3*i+2]; value != "unspecified" {
				has[fields[3*i+1]] = value
			}
		}
		i, found := now.Find(fields[0])
		if !found || !now.Entries[i].Plain() {
			continue
		}
		by, undecided := rules.alteredBy(&now.Entries[i], has)
		switch {
		case undecided:
			ask = append(ask, askedFile{&now.Entries[i], by})
		case by != "":
			altered = append(altered, snapshot.Altered{Path: fields[0], By: by})
		}
	}
	asked, err := c.askGit(ctx, ask)
	return append(altered, asked...), err
}

// attributes has the values of one path's attributes, by name. Unspecified attributes are missing.
type attributes map[string]string

// given reports whether the attribute is set or has a value.
func (a attributes) given(name string) bool { return a[name] != "" && a[name] != "unset" }

// alteredBy returns the name of the rule by which a checkout changes the bytes of e's file: the name of a
// filter, "encoding", "ident" or "eol". by is "" if a checkout keeps the bytes, or if the file cannot be
// read. If only git can decide, undecided is true, and by is the name to use if the bytes do change.
func (r contentRules) alteredBy(e *gitindex.Entry, has attributes) (by string, undecided bool) {
	if e.Mode != objstore.ModeFile && e.Mode != objstore.ModeExecutable {
		return "", false
	}
	if has["filter"] == "lfs" {
		return "lfs", false // git stores a pointer, never the file
	}
	filter := r.filterOf(has)
	ends := r.lineEndsOf(has)
	recoded := has.given("working-tree-encoding")
	if filter == "" && !ends.converts && !recoded && !has.given("ident") {
		return "", false
	}
	data, err := os.ReadFile(r.full(e.Path))
	if err != nil {
		return "", false
	}
	stored := objstore.Hash(objstore.Blob, data) == e.ID
	switch {
	case filter != "" && !stored:
		return filter, false
	case filter == "" && recoded:
		return "encoding", true
	case filter == "" && has.given("ident") && bytes.Contains(data, []byte("$Id")):
		return "ident", true
	case ends.alters(data, e.ID, stored):
		return "eol", false
	}
	return "", false
}

// filterOf returns the value of the attribute filter, or "" if the configuration has no clean or process
// command for that filter.
func (r contentRules) filterOf(has attributes) string {
	name := has["filter"]
	for _, command := range []string{"clean", "process"} {
		if _, ok := r.config.Get("filter." + name + "." + command); ok && has.given("filter") {
			return name
		}
	}
	return ""
}

// askedFile is a file that git must check out to show whether the bytes change.
type askedFile struct {
	entry *gitindex.Entry
	by    string // the name of the rule that may change the bytes
}

// askGit returns the files whose bytes a checkout changes. git checks files out into a temporary folder. No
// command of the user runs, because a file with a filter is never in files. A file that can no longer be read
// is left out of the result.
func (c *filesCapture) askGit(ctx context.Context, files []askedFile) (_ []snapshot.Altered, err error) {
	if len(files) == 0 {
		return nil, nil
	}
	if err := c.quarantine(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(c.q.Dir, "checkout-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = file.entry.Path
	}
	_, err = c.w.gitWith(ctx, gitRun{
		args:  []string{"checkout-index", "-z", "--stdin", "--prefix=" + dir + "/"},
		env:   append(c.q.GitEnv(objectsDir(c.w.Repo), c.w.env), "GIT_INDEX_FILE="+c.p.IndexPath()),
		stdin: paths(names),
	})
	if err != nil {
		return nil, err
	}
	var altered []snapshot.Altered
	for _, file := range files {
		there, err := os.ReadFile(c.w.full(file.entry.Path))
		if err != nil {
			continue // the file was removed since the capture read it
		}
		given, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(file.entry.Path)))
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(there, given) {
			altered = append(altered, snapshot.Altered{Path: file.entry.Path, By: file.by})
		}
	}
	return altered, nil
}
