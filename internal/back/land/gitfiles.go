package land

import (
	"context"
	"errors"
	"slices"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// toFiles lands in the working copy.
func (l *gitLanding) toFiles(ctx context.Context) (_ *Result, err error) {
	if !l.req.DryRun {
		if l.ahead, err = l.mergeAhead(ctx); err != nil {
			return nil, err
		}
		defer l.ahead.close()
	}
	job := &files.RestoreJob{
		Store: l.s, Copy: files.WorkingCopyOf(l.s), Want: &snapshot.VCS{Scope: snapshot.ScopeAll},
		Merge: l.mergeFiles, Switch: l.switchAll, Out: new(files.RestoreResult),
	}
	jobs := &files.RestoreJobs{Store: l.s, All: []*files.RestoreJob{job}, Of: l.req.entries(), DryRun: l.req.DryRun}
	defer jobs.Close()
	if err := jobs.Confirmed(ctx, l.req.Confirm, func() error { return jobs.Prepare(ctx) }); err != nil {
		return nil, landRefused(err)
	}
	if l.isNothing() {
		return l.out, nil
	}
	if l.clean {
		l.out.Changes = job.Out.Changes
	} else if err := l.list(ctx, job.Have()); err != nil {
		return nil, err
	}
	if l.req.DryRun {
		return l.req.wouldSay(l.out, l.headTree, l.trees), nil
	}
	commits := l.req.Mode == Commit && len(l.out.Conflicts) == 0
	if commits {
		if err := l.commit(ctx); err != nil {
			return nil, err
		}
	}
	head, err := l.create(ctx, job.Have())
	if err != nil {
		return nil, err
	}
	jobs.Head = head
	if err := begin(l.s, l.out.Run); err != nil {
		return nil, err
	}
	if err := jobs.Restore(ctx); err != nil {
		if !errors.Is(err, jjbridge.ErrUnfinished) { // no file was touched
			return nil, errors.Join(landRefused(err), end(l.s, l.out.Run))
		}
		return nil, l.unfinished(err)
	}
	ctx = context.WithoutCancel(ctx) // the files have changed
	if err := l.stage(ctx); err != nil {
		return nil, l.unfinished(refused(err))
	}
	if commits {
		if err := l.w.MoveHead(ctx, l.note(), l.out.Commit, l.head); err != nil {
			return nil, l.unfinished(err)
		}
		files.CapturedAfter(job).VCS.CommitID = l.out.Commit
	} else if err := l.w.PrepareMessage(l.req.Message); err != nil {
		return nil, l.unfinished(err)
	}
	if err := l.done(ctx, jobs); err != nil {
		return nil, l.unfinished(err)
	}
	if len(l.out.Conflicts) > 0 {
		return l.out, inConflict(l.out.Conflicts, "%s is landed with conflicts", l.req.Label).
			Hint("resolve them, then `git add` the files and `git commit`: the message is prepared").
			Hint("`git smithers land --abort` takes the landing back")
	}
	return l.out, end(l.s, l.out.Run)
}

// landRefused returns land_refused for restore_refused, because a landing is no restore.
func landRefused(err error) error {
	if fault.CodeOf(err) == fault.RestoreRefused {
		return refused(err)
	}
	return err
}

// unfinished adds the hint that takes an unfinished landing back.
func (l *gitLanding) unfinished(err error) error {
	known := fault.New(fault.CodeOf(timeline.Explain(err)), "the landing was not finished: %w", err)
	return known.Hint("`git smithers land --abort` takes back what was done")
}

// mergeHead waits for the merge onto the commit that is checked out. In a dry run it merges itself, so that have alone has all objects.
func (l *gitLanding) mergeHead(ctx context.Context, have *jjbridge.CapturedFiles) error {
	if l.ahead != nil {
		return l.ahead.wait()
	}
	return l.merge(ctx, have)
}

// keep puts the objects of merges onto have into the repository. In a dry run they stay where they are, and a plan to restore the tree to finds them.
func keep(ctx context.Context, s *timeline.Store, w *jjbridge.Workspace, dryRun bool, have *jjbridge.CapturedFiles, to objstore.ID) error {
	if !dryRun {
		return files.Keep(ctx, s, have)
	}
	edits, err := w.Expect(ctx, have, have.VCS.Tree, to)
	have.Expect(edits)
	return missing(s, err)
}

// mergeFiles takes the merge onto the commit that is checked out, and merges the changes onto the files if these differ. It
// returns the files to restore.
func (l *gitLanding) mergeFiles(ctx context.Context, have *jjbridge.CapturedFiles) (*snapshot.VCS, error) {
	if err := l.mergeHead(ctx, have); err != nil {
		return nil, err
	}
	want := have.VCS
	if l.isNothing() {
		return &want, nil
	}
	if l.ahead != nil {
		if err := files.Keep(ctx, l.s, l.ahead.scratch); err != nil {
			return nil, err
		}
		have.Expect(l.ahead.edits)
	}
	reads, err := l.w.Reading(ctx, have)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	onFiles := l.merged
	if have.VCS.Tree != l.headTree {
		ours, err := l.ours(ctx, have)
		if err != nil {
			return nil, err
		}
		if onFiles, _, err = (merging{l.s, have, l.req.Label}).onto(ctx, ours, l.all); err != nil {
			return nil, err
		}
		if !onFiles.SameConflicts(l.merged) {
			return nil, l.inTheWay(ctx, onFiles)
		}
		if onFiles.Tree == have.VCS.Tree && l.req.Mode == Apply {
			if l.staged, err = reads.HasStaged(ctx, l.headTree, l.merged.Tree); err != nil {
				return nil, timeline.Explain(err)
			}
			if l.isNothing() {
				return &want, nil
			}
		}
	}
	if err := keep(ctx, l.s, l.w, l.req.DryRun, have, onFiles.Tree); err != nil {
		return nil, err
	}
	want.Tree = onFiles.Tree
	modules := slices.ContainsFunc(l.all, func(c change) bool { return len(c.Modules) > 0 }) // a switch does not check them out
	// The index was compared with the commit that the capture found.
	if l.clean = have.VCS.Tree == l.headTree && have.VCS.CommitID == l.head && !have.IsStaged() && !modules; l.clean {
		return &want, nil
	}
	return &want, refused(reads.CheckStage(ctx, l.headTree, l.merged.Tree))
}

// ours returns the files onto which the changes are merged. Files that are as they were when the landed fork began have no changes of
// the user: the fork went on from these changes, so that they are among those that are landed.
func (l *gitLanding) ours(ctx context.Context, have *jjbridge.CapturedFiles) (objstore.ID, error) {
	if l.req.Began.IsZero() {
		return have.VCS.Tree, nil
	}
	if err := haveTree(l.s, l.req.Began); err != nil {
		return objstore.ID{}, missing(l.s, err)
	}
	tree, err := l.w.TakeBack(ctx, have, l.req.Steps[0].From.vcs.Tree, l.req.Began)
	return tree, timeline.Explain(err)
}

// switchAll changes the files and the index at once, and reports true, if neither differs from the commit that is checked out.
func (l *gitLanding) switchAll(ctx context.Context) (bool, error) {
	if !l.clean {
		return false, nil
	}
	return true, l.w.SwitchAll(ctx, l.headTree, l.merged.Tree)
}

// stage stages the changes and the conflicts, after the files have changed.
func (l *gitLanding) stage(ctx context.Context) error {
	if l.clean {
		return l.w.StageConflicts(ctx, l.merged.Conflicts)
	}
	return l.w.Stage(ctx, l.headTree, l.merged.Tree, l.merged.Conflicts)
}

// done records that the landing is done.
func (l *gitLanding) done(ctx context.Context, jobs *files.RestoreJobs) error {
	op := snapshot.Op{Kind: snapshot.OpLand, Files: len(jobs.All) > 0}
	return recordOp(ctx, jobs, op, "landed "+l.req.Label)
}

// recordOp appends the op of a landing, with the files after it.
func recordOp(ctx context.Context, jobs *files.RestoreJobs, op snapshot.Op, subject string) error {
	return jobs.Update(ctx, func() (*snapshot.Draft, error) {
		draft := &snapshot.Draft{Subject: subject, AtMs: jobs.Store.Now().UnixMilli()}
		news, err := jobs.Capture(draft, files.CapturedAfter)
		if err != nil {
			return nil, err
		}
		if len(news) > 0 {
			draft.Frame = new(snapshot.FrameDraft)
		} else if len(jobs.All) > 0 {
			op.Files = false // the files had the changes already
		}
		_, err = jobs.Head.AddOp(draft, op)
		return draft, err
	})
}
