// Package consent keeps strangers' commands from running: a workflow runs in a clone only if a user of the clone agreed
// to its bytes. It keeps the key with which the clone seals what acts on behalf of its user: consent to commands, schedules, results of tasks.
//
// The key has two halves. One is in the private folder, and the other, the token, in the user's own folder, outside of every repository. The
// key also follows from where the repository is. So what came with a clone, a fetch or a bundle, and what is in a copy of the repository,
// is known as somebody else's.
package consent

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Workflow is a workflow definition whose commands the user agreed to run in this clone. Only Ask makes a
// Workflow with a definition. The zero value has no definition.
type Workflow struct {
	definition []byte
	named      bool
}

// Named reports whether a user of the clone named the workflow's file, in this request or before. Otherwise, the workflow came with a run, and
// the user agreed to its commands when they were shown.
func (c Workflow) Named() bool { return c.named }

// Unnamed returns c for a run that came from elsewhere: a user may have named the workflow's file, but not for the files of this run.
func (c Workflow) Unnamed() Workflow {
	c.named = false
	return c
}

// Definition returns a copy of the bytes to which the user agreed. The result is nil for the zero value.
func (c Workflow) Definition() []byte { return bytes.Clone(c.definition) }

// trustedFolder is a folder in the store's private folder. It has a file for each workflow whose commands may run in
// this clone. The file's name is the workflow's hash. Its first line is namedMark if a user named the workflow's file, and shownMark
// otherwise. Its second line is the clone's seal of both; see KeyOf. A file without that seal is somebody else's, as in a copy of the
// repository, or of an earlier version.
const trustedFolder = "trusted"

const (
	namedMark = "named"
	shownMark = "shown"
)

// Ask returns the workflow if its commands may run in this clone. If the clone has no note of the workflow's
// hash, Ask calls ask. If ask returns an error, Ask returns that error and notes nothing. If ask returns nil,
// Ask notes the hash, and never calls ask for that hash again. A failure to write the note is a warning; a
// failure to read the note is an error.
//
// ask must show the workflow to the user, or know that the user named the workflow's file. named means that the user has named it. The note is not part
// of the history: no push sends the note, and the note is lost with the store's private folder.
func Ask(s *timeline.Store, workflow *snapshot.Workflow, named bool, ask func() error) (Workflow, error) {
	agreed := Workflow{definition: append([]byte{}, workflow.Definition...), named: named}
	hash := workflow.Hash()
	noted, before, err := isTrusted(s, hash)
	if err != nil {
		return Workflow{}, err
	}
	if noted && (before || !named) {
		agreed.named = before
		return agreed, nil
	}
	if !noted {
		if err := ask(); err != nil {
			return Workflow{}, hintElsewhere(s, hash, err)
		}
	}
	if err := noteTrusted(s, hash, named); err != nil {
		s.Warn(fmt.Errorf("the permission to run the workflow in this clone was not saved: %w", err))
	}
	return agreed, nil
}

// Knows reports whether Ask lets the workflow with the hash run without a question.
func Knows(s *timeline.Store, hash string) (bool, error) {
	noted, _, err := isTrusted(s, hash)
	return noted, err
}

// hintElsewhere returns the error of a question with a hint if somebody agreed to the workflow with the hash where this repository came from.
func hintElsewhere(s *timeline.Store, hash string, err error) error {
	refused, ok := errors.AsType[*fault.Error](err)
	if _, statErr := os.Lstat(trustedPath(s, hash)); !ok || statErr != nil {
		return err
	}
	return refused.Hint("what was agreed to elsewhere does not count here: the repository was copied or moved, or another user or version agreed")
}

// isTrusted reports whether the clone has a note of hash, a workflow's hash, and whether a user has named its file. A note is a regular file
// with the clone's seal. Without a note, isTrusted does not look for the key.
func isTrusted(s *timeline.Store, hash string) (noted, named bool, err error) {
	info, err := os.Lstat(trustedPath(s, hash))
	if errors.Is(err, fs.ErrNotExist) {
		return false, false, nil
	}
	if err != nil || !info.Mode().IsRegular() {
		return false, false, timeline.Explain(err)
	}
	note, err := os.ReadFile(trustedPath(s, hash))
	if err != nil {
		return false, false, timeline.Explain(err)
	}
	key, err := KeyOf(s)
	mark, seal, _ := strings.Cut(string(note), "\n")
	return Fits(key, sealed(hash, mark), strings.TrimSuffix(seal, "\n")), mark == namedMark, err
}

// sealed returns the text that the seal of a note covers.
func sealed(hash, mark string) []byte {
	return fmt.Appendf(nil, "git-smithers consent 1\x00%s\x00%s", hash, mark)
}

// noteTrusted notes the hash of a workflow to which the user agreed. Only Ask calls noteTrusted. With
// smithers.fsync, the note is on stable storage afterwards.
func noteTrusted(s *timeline.Store, hash string, named bool) error {
	key, err := OwnKey(s)
	if err != nil {
		return err
	}
	mark := shownMark
	if named {
		mark = namedMark
	}
	path := trustedPath(s, hash)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil { //nolint:gosec // the umask decides who may read the repository
		return timeline.Explain(err)
	}
	note := mark + "\n" + Seal(key, sealed(hash, mark)) + "\n"
	if err := os.WriteFile(path, []byte(note), 0o666); err != nil || !s.Settings().Fsync { //nolint:gosec // the umask decides who may read the repository
		return timeline.Explain(err)
	}
	// After a power cut, a supervisor resumes runs only if the notes of their workflows still exist.
	return timeline.Explain(errors.Join(fsx.SyncDir(filepath.Dir(path)), fsx.SyncDir(s.Private())))
}

// trustedPath returns the path of the note of a workflow's hash.
func trustedPath(s *timeline.Store, hash string) string {
	return filepath.Join(s.Private(), trustedFolder, hash)
}
