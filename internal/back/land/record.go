package land

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Workflow is the name of the workflow in the row of a landing.
const Workflow = "land"

// Prefix begins the id of a landing.
const Prefix = "land-"

// record is the input of a landing: what it lands, and what it needs to be taken back.
type record struct {
	Landed    []landedFrame `json:"landed"`
	Mode      Mode          `json:"mode"`
	WorkCopy  string        `json:"workingCopy"` // git's id of the worktree, or the name of the jj workspace
	Ref       string        `json:"ref,omitempty"`
	Head      string        `json:"head"`             // the commit that was checked out
	Tree      string        `json:"tree,omitempty"`   // the merged tree
	Commit    string        `json:"commit,omitempty"` // the new commit
	Branch    string        `json:"branch,omitempty"` // the new branch, for the mode Branch
	Conflicts []string      `json:"conflicts,omitempty"`
	Prepared  []byte        `json:"messageBefore,omitempty"` // the message that git's next commit proposed before
	// In a jj workspace: the change that was edited, its parents, the commits that jj has imported (base with the files of
	// the first frame, and commits with the changes), and the bookmark by which they were imported.
	Change  string   `json:"changeId,omitempty"`
	Parents []string `json:"parents,omitempty"`
	Base    string   `json:"base,omitempty"`
	Commits []string `json:"commits,omitempty"`
	Keeper  string   `json:"bookmark,omitempty"`
}

// landedFrame is a landed frame in a record.
type landedFrame struct {
	Run      string `json:"runId"`
	From     int64  `json:"from"` // 0 if the changes begin in a run that this one descends from
	To       int64  `json:"to"`
	Worktree string `json:"worktree,omitempty"`
}

// newRecord returns the record of a request.
func newRecord(req Request) record {
	r := record{Mode: req.Mode, Branch: req.Branch}
	for _, step := range req.Steps {
		landed := landedFrame{Run: step.To.Address.Run, To: step.To.Address.Frame, Worktree: step.To.Worktree}
		if step.From.Address.Run == landed.Run {
			landed.From = step.From.Address.Frame
		}
		r.Landed = append(r.Landed, landed)
	}
	return r
}

// input returns the change that makes the record the input of a run.
func (r record) input() (snapshot.Change, error) {
	data, err := json.Marshal(r)
	return snapshot.Change{Op: snapshot.OpSet, Collection: snapshot.CollectionInput, Value: data}, err
}

// recordBefore returns the record of a landing of this clone: the input in the entry before the op, which must be the first of
// the run. The newest entry may be a fetched one, by which anybody could change what an undo does. Code: undo_refused if
// the entry has no valid record.
func recordBefore(s *timeline.Store, run string, before objstore.ID) (record, error) {
	var r record
	entry, err := snapshot.ReadEntry(s.Objects(), before)
	if err != nil {
		return r, timeline.Explain(err)
	}
	if entry.Run != run || !entry.Parent.IsZero() {
		return r, fault.New(fault.UndoRefused, "run %q was continued before its landing was done", run).
			Hint("`git smithers restore %s` restores the files before the landing", fault.Word(timeline.Address{Run: run}.String())).
			Hint("`git smithers prune %s` then forgets the landing", fault.Word(run)).Detail("runId", run)
	}
	state, err := entry.State()
	if err != nil {
		return r, timeline.Explain(err)
	}
	data, err := state.Input()
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err == nil {
		err = r.check()
	}
	if err != nil {
		return r, fault.New(fault.UndoRefused, "run %q does not say what it landed: %w", run, err).Detail("runId", run)
	}
	return r, nil
}

// frame returns the address of the last landed frame, as commit messages have it.
func (r record) frame() string {
	last := r.Landed[len(r.Landed)-1]
	return timeline.Address{Run: last.Run, Frame: last.To}.String()
}

// paths returns the paths of files in conflict.
func (r record) paths() []string {
	var paths []string
	for _, text := range r.Conflicts {
		if path, ok := snapshot.UnescapePath(text); ok {
			paths = append(paths, path)
		}
	}
	return paths
}

// openFile is the file in the private directory of the working copy with the id of the landing that has begun, and is
// unfinished or has conflicts.
const openFile = "smithers-land"

// openPath returns the path of openFile for the working copy of the store.
func openPath(s *timeline.Store) string {
	w := s.Workspace()
	name := openFile
	if w.JJRepo() != "" { // jj workspaces can share git's directory
		name += "-" + snapshot.EscapePath(w.Name)
	}
	return filepath.Join(w.Repo.GitDir, strings.ReplaceAll(name, "/", "%2f"))
}

// openLanding returns the id of the landing that has begun in the working copy of the store, or "".
func openLanding(s *timeline.Store) (string, error) {
	data, err := os.ReadFile(openPath(s))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(data)), timeline.Explain(err)
}

// begin notes that the landing run has begun.
func begin(s *timeline.Store, run string) error {
	return timeline.Explain(fsx.Replace(openPath(s), []byte(run+"\n"), 0o666))
}

// end removes the note of begin, if the note names run.
func end(s *timeline.Store, run string) error {
	if open, err := openLanding(s); err != nil || open != run {
		return err
	}
	if err := os.Remove(openPath(s)); err != nil {
		return fmt.Errorf("the end of the landing was not noted: %w", err)
	}
	return nil
}
