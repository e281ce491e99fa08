// Package files handles the files of frames: it captures working copies, restores files, and makes and removes the
// worktrees of runs.
package files

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/claim"
	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/internal/vault"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// WorkingCopy captures and restores the files of one working copy for the runs of a store.
type WorkingCopy struct {
	store     *timeline.Store
	workspace *jjbridge.Workspace
	leave     []string      // see Without
	filled    *snapshot.VCS // see FilledWith
	rebased   bool          // see Rebased
	unready   *madeWorktree // the record of a new working copy, for Equip; nil if there is nothing to do
	include   []string      // see OfSession
	stranger  string        // the run from elsewhere whose files Checkout has put here; ""
	run       string        // see For
	caller    string        // see For
}

// WorkingCopyOf returns the working copy in which the store was opened. If the store was opened outside of any
// working copy, the result captures no files.
func WorkingCopyOf(s *timeline.Store) *WorkingCopy {
	return &WorkingCopy{store: s, workspace: s.Workspace()}
}

// WorkingCopyAt returns the working copy that contains the folder dir. Codes: no_working_copy if dir is not in a
// working copy; worktree_failed if the working copy belongs to another repository than the store.
func WorkingCopyAt(ctx context.Context, s *timeline.Store, dir string) (*WorkingCopy, error) {
	// Environment variables that point git at this repository are not valid for another folder.
	workspace, err := jjbridge.Locate(ctx, dir, gitexec.PlumbingEnv(s.Env()))
	if err != nil {
		return nil, fault.New(fault.NoWorkingCopy, "%s: %w", dir, err)
	}
	if workspace.Root == "" {
		return nil, fault.New(fault.NoWorkingCopy, "%s is not in a working copy", dir)
	}
	if workspace.Repo.CommonDir != s.Repo().CommonDir {
		return nil, fault.New(fault.WorktreeFailed, "%s belongs to another repository", dir).
			Hint("choose a working copy of the repository %s", s.Repo().CommonDir)
	}
	return &WorkingCopy{store: s, workspace: workspace}, nil
}

// Without returns a copy of c whose captures leave out the files at paths, unless git or jj tracks the files.
// paths are relative to the top of the working copy, with slashes.
func (c *WorkingCopy) Without(paths ...string) *WorkingCopy {
	out := *c
	out.leave = paths
	return &out
}

// SessionEngine is the name under which entries of sessions of coding agents keep their own data.
const SessionEngine = "session"

// OfSession returns a copy of c whose captures also have the ignored files that smithers.session.include names. Without a search for secrets, and in a jj
// workspace, OfSession warns and has no effect.
func (c *WorkingCopy) OfSession() *WorkingCopy {
	out := *c
	set := c.store.Settings()
	if out.include = set.Session.Include; len(out.include) > 0 && (set.Secrets == vault.Off || c.workspace.Type == snapshot.VCSJJ) {
		out.include = nil
		c.store.WarnOnce(errors.New("smithers.session.include has no effect in a jj workspace, and while smithers.secrets is off"))
	}
	return &out
}

// likeRun returns c or, if entry is a session's, the result of OfSession.
func (c *WorkingCopy) likeRun(entry *snapshot.Entry) (*WorkingCopy, error) {
	engines, err := entry.ExtEngines()
	if err != nil || !slices.Contains(engines, SessionEngine) {
		return c, timeline.Explain(err)
	}
	return c.OfSession(), nil
}

// For returns a copy of c whose captures are those of a run or session: they have with whom it shared the working copy.
// caller is the run that calls the run, or "".
func (c *WorkingCopy) For(run, caller string) *WorkingCopy {
	out := *c
	out.run, out.caller = run, caller
	return &out
}

// Enter notes that a command of the run of For is at work in the working copy, until Leave.
func (c *WorkingCopy) Enter() { c.place().Enter(claim.PresenceNote{Run: c.run}, c.caller) }

// Leave notes that no command of the run of For is at work in the working copy.
func (c *WorkingCopy) Leave() { c.place().Leave(c.run) }

// Beside returns the sorted ids of the runs and sessions that are at work in the working copy beside the run of For.
func (c *WorkingCopy) Beside() []string { return c.place().Beside(c.run, c.caller, c.store.Now()) }

// place returns the working copy as a place where runs are at work.
func (c *WorkingCopy) place() claim.Presence { return claim.PresenceAt(c.store, c.Root()) }

// FilledWith returns the files with which OpenWorktree has filled a new working copy, or nil if OpenWorktree has
// not filled c.
func (c *WorkingCopy) FilledWith() *snapshot.VCS { return c.filled }

// Root returns the path of the top of the working copy, or "" if there is no working copy.
func (c *WorkingCopy) Root() string { return c.workspace.Root }

// Capture captures the files of the working copy in the scope of smithers.worktree. The caller closes the result after
// the append that stores the files.
//
// If the scope is off, the result has only the revision. If the files are unreadable, Capture warns, and the result
// has only the revision. If the revision is unreadable, too, or ctx ends, Capture returns an error. Capture returns
// nil if there is no working copy, or if only the revision can be captured and the working copy has none yet.
func (c *WorkingCopy) Capture(ctx context.Context) (*jjbridge.CapturedFiles, error) {
	if c.Root() == "" {
		return nil, nil //nolint:nilnil // a missing working copy is not an error
	}
	if c.workspace.NoJJ {
		c.store.WarnOnce(fmt.Errorf("jj was not found on PATH: git captures the files of the jj workspace %s, without jj's change id", c.Root()))
	}
	if c.store.Settings().Scope == jjbridge.ScopeOff {
		return c.revision(ctx)
	}
	captured, err := c.read(ctx, c.store.Settings().Scope)
	if err == nil || ctx.Err() != nil {
		return captured, timeline.Explain(err)
	}
	revision, pointerErr := c.revision(ctx)
	if pointerErr != nil {
		return nil, timeline.Explain(err)
	}
	c.store.Warn(fmt.Errorf("the files of %s were not captured: %w", c.Root(), err))
	return revision, nil
}

// read captures the files of the scope snapshot.ScopeAll or snapshot.ScopeTracked, without untracked files that have secrets.
// The caller closes the result.
func (c *WorkingCopy) read(ctx context.Context, scope string) (*jjbridge.CapturedFiles, error) {
	secrets, err := secretSearch(c.store)
	if err != nil {
		return nil, err
	}
	return c.readWith(ctx, scope, secrets)
}

// readWith captures as read does, but searches the files with secrets, or not at all if secrets is nil.
func (c *WorkingCopy) readWith(ctx context.Context, scope string, secrets *jjbridge.SecretSearch) (*jjbridge.CapturedFiles, error) {
	began := c.store.Now()
	captured, err := c.workspace.Capture(ctx, jjbridge.CaptureOptions{
		Scope: scope, MaxFile: c.store.Settings().MaxFile, Leave: c.leave, Include: c.include, Secrets: secrets,
		Objects: c.store.Objects(), Warn: c.warn,
	})
	if err == nil && c.run != "" {
		captured.VCS.With = c.place().Beside(c.run, c.caller, began)
	}
	return captured, err
}

// warn gives a warning of a capture, without the secrets in the paths that it names.
func (c *WorkingCopy) warn(err error) {
	finder, _ := timeline.SecretFinder(c.store) // the capture itself fails if the rules cannot be read
	if text := timeline.MaskSecrets(finder, err.Error()); text != err.Error() {
		err = errors.New(text)
	}
	c.store.WarnOnce(err)
}

// revision returns a capture that has the revision of the working copy and no files. It returns nil if the
// working copy has no revision yet.
func (c *WorkingCopy) revision(ctx context.Context) (*jjbridge.CapturedFiles, error) {
	vcs, err := c.workspace.Pointer(ctx)
	if err != nil || vcs == nil {
		return nil, timeline.Explain(err)
	}
	return &jjbridge.CapturedFiles{VCS: *vcs}, nil
}

// restoreConflict makes jj treat the files as conflicted again if v is the capture of a conflict, and otherwise
// does nothing. If jj cannot restore the conflict, restoreConflict warns, and the files contain conflict markers
// as plain text.
func (c *WorkingCopy) restoreConflict(ctx context.Context, v *snapshot.VCS) {
	if !v.Conflicted {
		return
	}
	done, err := jjbridge.RestoreConflict(ctx, c.workspace, v.CommitID)
	switch {
	case err != nil:
		c.store.Warn(fmt.Errorf("the jj conflict was not restored, so its files contain conflict markers: %w", err))
	case !done:
		c.store.Warn(fmt.Errorf("the jj conflict was not restored, so its files contain conflict markers: commit %s is not in this jj repository", v.CommitID))
	}
}

// compare checks the files of a working copy after a restore. now is the capture after the restore, and want is the
// record of the files to restore. compare returns true if all files of want are in the working copy. There may be
// additional files, which were ignored before the restore and are no longer ignored. compare warns about additional
// files and about files that differ, except files that the capture of want left out and the files in stay. If the
// comparison fails, compare warns and returns false. A file of want that now leaves out because of a secret counts as
// restored.
func (c *WorkingCopy) compare(ctx context.Context, now *jjbridge.CapturedFiles, want *snapshot.VCS, stay []snapshot.LeftOut) (same bool) {
	if now.VCS.Tree == want.Tree {
		return true
	}
	objects := c.store.Objects().Begin() // reads the quarantine, and is never committed
	err := now.Objects(objects)
	var differ []jjbridge.PathChange
	if err == nil {
		differ, err = ChangedFiles(ctx, objects, want.Tree, now.VCS.Tree, "")
	}
	if err != nil {
		c.store.Warn(fmt.Errorf("the restored files were not compared with the captured files: %w", err))
		return false
	}
	left := slices.Concat(want.LeftOut, stay, leftSecrets(now.VCS.LeftOut), c.unseen(ctx, differ))
	differ = slices.DeleteFunc(differ, func(d jjbridge.PathChange) bool {
		return jjbridge.IsLeftOut(left, d.Path) || d.Op == jjbridge.OpAdd && now.Included(d.Path)
	})
	var besides, others []string
	for _, d := range differ {
		if d.Op == jjbridge.OpAdd {
			besides = append(besides, d.Path)
		} else {
			others = append(others, d.Path)
		}
	}
	if len(besides) > 0 {
		c.store.Warn(fmt.Errorf("the next capture includes files that are no longer ignored: %s", someOf(besides)))
	}
	if len(others) > 0 {
		verb := "differ"
		if len(others) == 1 {
			verb = "differs"
		}
		c.store.Warn(fmt.Errorf("%s %s from the captured files: %s", plain.Count(len(others), "restored file"), verb, someOf(others)))
	}
	return len(others) == 0
}

// unseen returns those of the missing files that are there: git ignores them, and no setting of this clone includes them in captures.
func (c *WorkingCopy) unseen(ctx context.Context, differ []jjbridge.PathChange) (there []snapshot.LeftOut) {
	var missing []string
	for _, d := range differ {
		if d.Op == jjbridge.OpRemove && !isMissing(filepath.Join(c.Root(), filepath.FromSlash(d.Path))) {
			missing = append(missing, d.Path)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	ignored, _ := c.workspace.Ignores(ctx, missing) // with an error, all count as missing
	for path := range ignored {
		there = append(there, snapshot.LeftOut{Path: path})
	}
	return there
}

// someOf returns the first five paths, separated by commas, and the number of the other paths.
func someOf(paths []string) string {
	const shown = 5
	list := strings.Join(paths[:min(shown, len(paths))], ", ")
	if more := len(paths) - shown; more > 0 {
		list += fmt.Sprintf(", and %d more", more)
	}
	return list
}
