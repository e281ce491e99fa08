package land

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Mode says where the changes go.
type Mode string

// The modes.
const (
	Apply  Mode = "apply"  // to the files and the index, without a commit
	Commit Mode = "commit" // to a commit on the branch that is checked out
	Branch Mode = "branch" // to a commit on a new branch; the working copy stays as it is
)

// Request asks for a landing.
type Request struct {
	Steps   []Step // made in this order
	Mode    Mode
	Branch  string      // the new branch of the mode Branch
	Began   objstore.ID // the files with which the landed run began; the zero ID if it is not known, or not the run's working copy that is landed
	Label   string      // names the landed frame in conflict markers
	Message string      // of the commit, with trailers
	EachOwn bool        // each step gets a commit of its own, with its own message; not with the mode Apply
	DryRun  bool        // change nothing, and return what a landing would change
	Confirm files.ConfirmRemoval
}

// entries returns the entries whose files are landed.
func (r Request) entries() (out []*snapshot.Entry) {
	for _, step := range r.Steps {
		out = append(out, step.To.entry)
	}
	return out
}

// Step is one change: from the files of one frame to those of a later frame, in one working copy of a run.
type Step struct {
	From, To Files
	Message  string // used if Request.EachOwn is true
}

// Files are captured files of a frame.
type Files struct {
	Address  timeline.Address
	Commit   objstore.ID // of the frame
	Worktree string      // the task whose own worktree has the files; "" for the run's working copy
	captured
}

// Result is the result of a landing.
type Result struct {
	Run       string                // the run of the landing; "" if nothing was to land
	Mode      Mode                  // as requested; in a jj workspace, Apply is Commit
	Root      string                // the top of the working copy
	Changes   []jjbridge.PathChange // the changes to the commit that was checked out, sorted by path; never nil
	LeftOut   []string              // paths that were not landed, because a capture left them out, sorted
	Worktrees []string              // tasks whose own worktrees the frame has, and which were not landed, sorted
	Conflicts []string              // paths in conflict, sorted
	Commit    string                // the new commit; "" if there is none, and for a dry run
	Messages  []string              // of the commits that would be made or prepared; nil unless it is a dry run
	Change    string                // the new jj change; "" with git
	Branch    string                // the branch with the commit; "" if HEAD is detached, and in the mode Apply
	Saved     *timeline.Address     // the frame with the files before; nil if nothing was to land
}

// Only makes the step leave out the changed files for which own returns false, as if the capture of the later frame had left
// them out.
func (st *Step) Only(ctx context.Context, s *timeline.Store, own func(path string) bool) error {
	vcs, err := files.OnlyPaths(ctx, s, st.From.vcs, st.To.vcs, own)
	st.To.captured = captured{vcs, st.To.entry}
	return err
}
