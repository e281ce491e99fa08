package land

import (
	"context"
	"os"
	"path/filepath"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Land merges the changes of req.Steps onto the commit that is checked out in the working copy of the store. Changes that
// are not committed stay in the files: they are merged, too, and are neither staged nor committed. With conflicts, Land
// returns the result and merge_conflict: the files have conflict markers, and git's index, or jj's change, has the
// conflicts.
//
// Codes: no_working_copy; land_refused; merge_conflict without a result, and nothing changed, if the mode is Branch, if
// a step that is not the last is in conflict, or if several commits are wanted. With a code other than merge_conflict,
// no file, index, branch or run has changed.
//
// With req.DryRun, Land changes nothing and keeps no object, and returns the result without a run; conflicts in the files are no error then. What a
// landing would refuse is the error that the landing would have.
func Land(ctx context.Context, s *timeline.Store, req Request) (*Result, error) {
	if !req.DryRun {
		unlock, err := Lock(s)
		if err != nil {
			return nil, err
		}
		defer unlock()
	} else if req.Mode != Branch {
		var trees []objstore.ID
		for _, step := range req.Steps {
			trees = append(trees, step.To.vcs.Tree)
		}
		if err := files.CheckTrust(ctx, s, req.entries(), trees...); err != nil {
			return nil, timeline.Explain(err)
		}
	}
	if err := closeOld(ctx, s, req.DryRun); err != nil {
		return nil, err
	}
	if s.Workspace().Type == snapshot.VCSJJ {
		return landJJ(ctx, s, req)
	}
	return landGit(ctx, s, req)
}

// closeOld forgets a landing that has begun in this working copy and was committed since. It refuses to begin another one
// before a landing has ended. A dry run forgets nothing.
func closeOld(ctx context.Context, s *timeline.Store, dryRun bool) error {
	run, err := openLanding(s)
	if err != nil || run == "" {
		return err
	}
	head, err := s.Head(ctx, run)
	if code := fault.CodeOf(err); code == fault.RunNotFound || code == fault.RunPruned {
		if dryRun {
			return nil
		}
		return end(s, run)
	}
	if err != nil {
		return err
	}
	op, done, err := landOp(head)
	if err != nil {
		return err
	}
	if done && op.UndoneBy == 0 {
		resolved, err := isResolved(ctx, s)
		if err != nil {
			return err
		}
		if !resolved {
			hint := "resolve them, then `git add` the files and `git commit`"
			if s.Workspace().Type == snapshot.VCSJJ {
				hint = "resolve them in the files, or with `jj resolve`"
			}
			return fault.New(fault.LandRefused, "the landing %q still has conflicts", run).
				Hint("%s", hint).
				Hint("`git smithers land --abort` takes the landing back").Detail("runId", run)
		}
	} else if !done {
		return fault.New(fault.LandRefused, "the landing %q was interrupted", run).
			Hint("`git smithers land --abort` takes the landing back").Detail("runId", run)
	}
	if dryRun {
		return nil
	}
	return end(s, run)
}

// isResolved reports whether the working copy has no more conflicts.
func isResolved(ctx context.Context, s *timeline.Store) (bool, error) {
	w := s.Workspace()
	if w.Type == snapshot.VCSJJ { // jj goes on where another change is edited
		at, err := w.JJChangeAt(ctx, "@")
		return at == nil || !at.Conflict, timeline.Explain(err)
	}
	out, err := w.RunGit(ctx, "ls-files", "--unmerged")
	return len(out) == 0, timeline.Explain(err)
}

// isShallow reports whether the repository is a shallow clone.
func isShallow(s *timeline.Store) bool {
	_, err := os.Lstat(filepath.Join(s.Repo().CommonDir, "shallow"))
	return err == nil
}

// newResult returns the result of a request before anything is landed.
func newResult(s *timeline.Store, req Request) *Result {
	out := &Result{Mode: req.Mode, Root: s.Workspace().Root, Changes: []jjbridge.PathChange{}}
	if to := req.Steps[len(req.Steps)-1].To; to.Worktree == "" {
		for _, own := range to.vcs.Worktrees {
			out.Worktrees = append(out.Worktrees, own.Name)
		}
	}
	return out
}

// change is a step without the files that a capture left out.
type change struct {
	step Step
	*jjbridge.TreeChange
}

// changesOf returns the changes of the steps. left has the paths that are not landed. Code: land_refused for changed
// submodules with jj.
func changesOf(ctx context.Context, s *timeline.Store, c *jjbridge.CapturedFiles, steps []Step) (all []change, left []string, err error) {
	for _, step := range steps {
		for _, one := range []Files{step.From, step.To} {
			if err := haveTree(s, one.vcs.Tree); err != nil {
				return nil, nil, missing(s, err)
			}
		}
		if err := checkNames(s, step.From.vcs.Tree, step.To.vcs.Tree); err != nil {
			return nil, nil, err
		}
		found, err := s.Workspace().TreeChange(ctx, c, step.From.vcs, step.To.vcs)
		if err != nil {
			return nil, nil, missing(s, err)
		}
		if len(found.Modules) > 0 && s.Workspace().Type == snapshot.VCSJJ {
			return nil, nil, fault.New(fault.LandRefused, "submodule %s differs between %s and %s", found.Modules[0], step.From.Address, step.To.Address).
				Hint("jj does not change submodules: check the commit out in the submodule, and commit it with git").
				Detail("submodules", found.Modules)
		}
		all, left = append(all, change{step, found}), append(left, found.LeftOut...)
	}
	return all, left, nil
}

// haveTree returns an error that wraps objstore.ErrNotFound if the repository lacks a tree.
func haveTree(s *timeline.Store, tree objstore.ID) error {
	_, _, err := s.Objects().Get(tree)
	return err
}

// merging merges several changes, one after the other, onto a tree.
type merging struct {
	s     *timeline.Store
	c     *jjbridge.CapturedFiles
	label string
}

// onto merges the changes onto the tree ours. trees has the tree after each change. If a change before the last one is in
// conflict, the error is merge_conflict.
func (m merging) onto(ctx context.Context, ours objstore.ID, all []change) (last *jjbridge.Merged, trees []objstore.ID, err error) {
	last = &jjbridge.Merged{Tree: ours}
	for i, one := range all {
		if len(last.Conflicts) > 0 {
			return nil, nil, stepConflict(all[i-1], last.Paths())
		}
		last, err = m.s.Workspace().Merge(ctx, m.c, jjbridge.MergeRequest{Base: one.step.From.vcs.Tree, Ours: last.Tree, Theirs: one.To, Label: m.label})
		if err != nil {
			return nil, nil, mergeError(m.s, err)
		}
		trees = append(trees, last.Tree)
	}
	return last, trees, nil
}

// wouldSay sets out.Messages. trees has the tree after each step, of which the first goes on from the tree before.
func (r Request) wouldSay(out *Result, before objstore.ID, trees []objstore.ID) *Result {
	if !r.EachOwn {
		out.Messages = []string{r.Message}
		return out
	}
	for i, next := range trees {
		if next != before {
			out.Messages, before = append(out.Messages, r.Steps[i].Message), next
		}
	}
	return out
}
