package land

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/code"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// gitLanding is a landing in a working copy of git.
type gitLanding struct {
	s   *timeline.Store
	w   *jjbridge.Workspace
	req Request
	out *Result

	head     string // the commit that is checked out
	headTree objstore.ID
	ref      string // the full name of the branch that is checked out; "HEAD" if none is

	ahead  *aheadMerge      // nil for the mode Branch
	merged *jjbridge.Merged // the changes on headTree
	staged bool             // the files and the index have the changes already
	clean  bool             // neither the files nor the index differ from headTree
	trees  []objstore.ID    // headTree after each step
	all    []change
}

// landGit lands in a working copy of git.
func landGit(ctx context.Context, s *timeline.Store, req Request) (*Result, error) {
	l := &gitLanding{s: s, w: s.Workspace(), req: req, out: newResult(s, req)}
	if err := l.stand(ctx); err != nil {
		return nil, err
	}
	if req.Mode == Branch {
		return l.toBranch(ctx)
	}
	return l.toFiles(ctx)
}

// stand finds out what is checked out. Code: land_refused for a branch without a commit, and for an operation of git that
// is under way.
func (l *gitLanding) stand(ctx context.Context) error {
	commit, branch, err := l.w.Head(ctx)
	if err != nil {
		return timeline.Explain(err)
	}
	if commit == "" {
		return fault.New(fault.LandRefused, "the branch has no commit yet").Hint("make a first commit: `git commit --allow-empty`")
	}
	operation, err := l.w.Underway()
	if err != nil {
		return timeline.Explain(err)
	}
	if operation != "" && l.req.Mode != Branch {
		return fault.New(fault.LandRefused, "a %s is under way", operation).
			Hint("finish it, or take it back with `git %s --abort`", fault.Word(operation))
	}
	if lock := filepath.Join(l.w.Repo.GitDir, "index.lock"); l.req.Mode != Branch {
		if _, err := os.Lstat(lock); err == nil {
			return fault.New(fault.LandRefused, "another process of git holds %s", lock).
				Hint("wait until it has ended; if it was killed, remove the file")
		}
	}
	id, err := objstore.ParseID(commit)
	if err == nil {
		l.headTree, err = timeline.CommitTree(l.s.Objects(), id)
	}
	if err != nil {
		return missing(l.s, err)
	}
	l.head, l.ref = commit, "HEAD"
	if branch != "" {
		l.ref = "refs/heads/" + branch
		l.out.Branch = branch
	}
	return l.related(ctx)
}

// related returns land_refused if the commit that is checked out and the commit of the first frame have no common
// ancestor. It returns nil if the repository does not have the frame's commit: the frame's files are then the base alone.
func (l *gitLanding) related(ctx context.Context) error {
	then := l.req.Steps[0].From.vcs.CommitID
	if then == l.head {
		return nil
	}
	id, err := objstore.ParseID(then)
	if err != nil {
		return nil //nolint:nilerr // no commit is known
	}
	if err := haveTree(l.s, id); err != nil { // another clone's commit
		return nil //nolint:nilerr // the files of the frame are here
	}
	if l.follows(then) {
		return nil
	}
	base, err := l.w.MergeBase(ctx, then, l.head)
	if err != nil || base != "" {
		return timeline.Explain(err)
	}
	refused := fault.New(fault.LandRefused, "%s and HEAD have no common ancestor", l.req.Steps[0].From.Address)
	if isShallow(l.s) {
		return refused.Hint("`git fetch --unshallow` fetches the history that this shallow clone lacks")
	}
	return refused.Hint("check out a branch of the history that the run worked on")
}

// mostFollowed is how many commits follows reads.
const mostFollowed = 200

// follows reports whether commit is the commit that is checked out, or a near ancestor of it along first parents. It saves a
// process in the usual case.
func (l *gitLanding) follows(commit string) bool {
	for at, n := l.head, 0; n < mostFollowed; n++ {
		if at == commit {
			return true
		}
		_, parents, err := jjbridge.ReadCommit(l.s.Objects(), at)
		if err != nil || len(parents) == 0 {
			return false
		}
		at = parents[0]
	}
	return false
}

// merge merges the changes onto the commit that is checked out. c takes the new objects.
func (l *gitLanding) merge(ctx context.Context, c *jjbridge.CapturedFiles) error {
	all, left, err := changesOf(ctx, l.s, c, l.req.Steps)
	if err != nil {
		return err
	}
	slices.Sort(left)
	l.all, l.out.LeftOut = all, slices.Compact(left)
	l.merged, l.trees, err = merging{l.s, c, l.req.Label}.onto(ctx, l.headTree, all)
	if err != nil {
		return err
	}
	l.out.Conflicts = l.merged.Paths()
	if len(l.out.Conflicts) == 0 {
		return nil
	}
	if l.req.Mode == Branch {
		return inConflict(l.out.Conflicts, "branch %s was not made", l.req.Branch).
			Hint("nothing was changed; land without --branch to resolve the conflicts in the working copy")
	}
	if l.req.EachOwn {
		return stepConflict(all[len(all)-1], l.out.Conflicts)
	}
	return nil
}

// store puts the objects of merges into the repository. No ref reaches them yet.
func store(ctx context.Context, s *timeline.Store, c *jjbridge.CapturedFiles) error {
	batch := s.Objects().Begin()
	if err := c.Objects(batch); err != nil {
		return timeline.Explain(err)
	}
	return timeline.Explain(batch.Commit(ctx, nil))
}

// list sets l.out.Changes.
func (l *gitLanding) list(ctx context.Context) error {
	changes, err := code.ChangedFiles(ctx, l.s.Objects(), l.headTree, l.merged.Tree, "")
	if err != nil {
		return timeline.Explain(err)
	}
	l.out.Changes = append(l.out.Changes[:0], changes...)
	return nil
}

// isNothing reports whether the commit that is checked out has all changes already, or the files and the index if no
// commit is wanted.
func (l *gitLanding) isNothing() bool {
	return (l.merged.Tree == l.headTree || l.staged) && len(l.merged.Conflicts) == 0
}

// commit makes the commits of the merge, without moving a ref, and sets l.out.Commit.
func (l *gitLanding) commit(ctx context.Context) error {
	if !l.req.EachOwn {
		commit, err := l.w.CommitTree(ctx, l.merged.Tree, l.head, l.req.Message)
		l.out.Commit = commit
		return timeline.Explain(err)
	}
	parent, tree := l.head, l.headTree
	for i, next := range l.trees {
		if next == tree {
			continue
		}
		commit, err := l.w.CommitTree(ctx, next, parent, l.all[i].step.Message)
		if err != nil {
			return timeline.Explain(err)
		}
		parent, tree = commit, next
	}
	l.out.Commit = parent
	return nil
}

// toBranch makes a branch with the changes, and leaves the working copy as it is.
func (l *gitLanding) toBranch(ctx context.Context) (*Result, error) {
	if err := freeBranch(ctx, l.w, l.req.Branch); err != nil {
		return nil, err
	}
	c, err := l.w.NewScratch(ctx, l.s.Objects())
	if err != nil {
		return nil, timeline.Explain(err)
	}
	defer c.Close() //nolint:errcheck // a later capture removes a quarantine that stays
	if err := l.merge(ctx, c); err != nil {
		return nil, err
	}
	if l.isNothing() {
		return l.out, nil
	}
	if err := l.w.CheckTree(ctx, c, l.headTree, l.merged.Tree); err != nil {
		return nil, refused(err)
	}
	if err := store(ctx, l.s, c); err != nil {
		return nil, err
	}
	if err := l.list(ctx); err != nil {
		return nil, err
	}
	if err := l.commit(ctx); err != nil {
		return nil, err
	}
	head, err := l.create(ctx, nil)
	if err != nil {
		return nil, err
	}
	l.out.Branch = l.req.Branch
	ctx = context.WithoutCancel(ctx)
	if _, err := l.w.RunGit(ctx, "update-ref", "-m", l.note(), "refs/heads/"+l.req.Branch, l.out.Commit, strings.Repeat("0", len(l.head))); err != nil {
		return nil, timeline.Explain(err)
	}
	return l.out, l.done(ctx, &code.RestoreJobs{Store: l.s, Head: head})
}

// note is the line for reflogs.
func (l *gitLanding) note() string { return "smithers land: " + l.req.Label }

// create creates the run of the landing. c has the files before; it is nil if the landing changes no file.
func (l *gitLanding) create(ctx context.Context, c *jjbridge.CapturedFiles) (*timeline.Head, error) {
	r := newRecord(l.req)
	r.WorkCopy, r.Ref, r.Head, r.Tree, r.Commit = l.w.Name, l.ref, l.head, l.merged.Tree.String(), l.out.Commit
	for _, path := range l.out.Conflicts {
		r.Conflicts = append(r.Conflicts, snapshot.EscapePath(path))
	}
	if l.req.Mode != Branch {
		var err error
		if r.Prepared, err = l.w.PreparedMessage(); err != nil {
			return nil, timeline.Explain(err)
		}
	}
	head, err := createRun(ctx, l.s, r, c)
	if err != nil {
		return nil, err
	}
	l.out.Run = head.Row().ID
	l.out.Saved = &timeline.Address{Run: l.out.Run}
	return head, nil
}

// createRun creates the run of a landing. c has the files before, or is nil.
func createRun(ctx context.Context, s *timeline.Store, r record, c *jjbridge.CapturedFiles) (*timeline.Head, error) {
	input, err := r.input()
	if err != nil {
		return nil, timeline.Explain(err)
	}
	at := s.Now().UnixMilli()
	draft := snapshot.Draft{
		Frame: &snapshot.FrameDraft{State: []snapshot.Change{input}}, AtMs: at,
		Subject: "before: landed " + r.describe(),
	}
	if c != nil {
		draft.VCS, draft.Objects = &c.VCS, c.Objects
	}
	return s.Create(ctx, snapshot.Run{
		ID: Prefix + timeline.NewRunID(), Workflow: Workflow, Status: snapshot.RunFinished, CreatedAtMs: at, StartedAtMs: &at, FinishedAtMs: &at,
	}, draft)
}

// describe names what is landed.
func (r record) describe() string {
	last := r.Landed[len(r.Landed)-1]
	text := timeline.Address{Run: last.Run, Frame: last.To}.String()
	if last.Worktree != "" {
		text += " worktree " + last.Worktree
	}
	return text
}

// aheadMerge is the merge onto the commit that is checked out, which runs while the working copy is captured.
type aheadMerge struct {
	scratch *jjbridge.CapturedFiles // takes the new objects
	wait    func() error            // returns the error of the merge
	edits   *jjbridge.ExpectedEdits // of a clean working copy; valid after wait
	cancel  context.CancelFunc
}

// mergeAhead begins the merge onto the commit that is checked out. The caller must close the result.
func (l *gitLanding) mergeAhead(ctx context.Context) (*aheadMerge, error) {
	scratch, err := l.w.NewScratch(ctx, l.s.Objects()) // the capture locks the private index
	if err != nil {
		return nil, timeline.Explain(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	a := &aheadMerge{scratch: scratch, wait: sync.OnceValue(func() error { return <-done }), cancel: cancel}
	go func() {
		err := l.merge(ctx, scratch)
		if err == nil && !l.isNothing() {
			a.edits, err = l.w.Expect(ctx, scratch, l.headTree, l.merged.Tree)
			err = missing(l.s, err)
		}
		done <- err
	}()
	return a, nil
}

// close ends the merge and removes its objects.
func (a *aheadMerge) close() {
	a.cancel()
	_ = a.wait()          // the landing has its own error
	_ = a.scratch.Close() // a later capture removes a quarantine that stays
}

// toFiles lands in the working copy.
func (l *gitLanding) toFiles(ctx context.Context) (_ *Result, err error) {
	if l.ahead, err = l.mergeAhead(ctx); err != nil {
		return nil, err
	}
	defer l.ahead.close()
	job := &code.RestoreJob{
		Store: l.s, Copy: code.WorkingCopyOf(l.s), Want: &snapshot.VCS{Scope: snapshot.ScopeAll},
		Merge: l.mergeFiles, Switch: l.switchAll, Out: new(code.RestoreResult),
	}
	jobs := &code.RestoreJobs{Store: l.s, All: []*code.RestoreJob{job}}
	defer jobs.Close()
	if err := jobs.Confirmed(ctx, l.req.Confirm, func() error { return jobs.Prepare(ctx) }); err != nil {
		return nil, landRefused(err)
	}
	if l.isNothing() {
		return l.out, nil
	}
	if l.clean {
		l.out.Changes = job.Out.Changes
	} else if err := l.list(ctx); err != nil {
		return nil, err
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
		code.CapturedAfter(job).VCS.CommitID = l.out.Commit
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

// mergeFiles takes the merge onto the commit that is checked out, and merges the changes onto the files if these differ. It
// returns the files to restore.
func (l *gitLanding) mergeFiles(ctx context.Context, have *jjbridge.CapturedFiles) (*snapshot.VCS, error) {
	if err := l.ahead.wait(); err != nil {
		return nil, err
	}
	want := have.VCS
	if l.isNothing() {
		return &want, nil
	}
	if err := store(ctx, l.s, l.ahead.scratch); err != nil {
		return nil, err
	}
	have.Expect(l.ahead.edits)
	files := l.merged
	if have.VCS.Tree != l.headTree {
		var err error
		if files, _, err = (merging{l.s, have, l.req.Label}).onto(ctx, have.VCS.Tree, l.all); err != nil {
			return nil, err
		}
		if !files.SameConflicts(l.merged) {
			return nil, l.inTheWay(ctx, files)
		}
		if files.Tree == have.VCS.Tree && l.req.Mode == Apply {
			var err error
			if l.staged, err = l.w.HasStaged(ctx, l.headTree, l.merged.Tree); err != nil {
				return nil, timeline.Explain(err)
			}
			if l.isNothing() {
				return &want, nil
			}
		}
		if err := store(ctx, l.s, have); err != nil {
			return nil, err
		}
	}
	want.Tree = files.Tree
	// The index was compared with the commit that the capture found.
	if l.clean = have.VCS.Tree == l.headTree && have.VCS.CommitID == l.head && !have.IsStaged(); l.clean {
		return &want, nil
	}
	return &want, refused(l.w.CheckStage(ctx, l.headTree, l.merged.Tree))
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
func (l *gitLanding) done(ctx context.Context, jobs *code.RestoreJobs) error {
	op := snapshot.Op{Kind: snapshot.OpLand, Files: len(jobs.All) > 0}
	return recordOp(ctx, jobs, op, "landed "+l.req.Label)
}

// recordOp appends the op of a landing, with the files after it.
func recordOp(ctx context.Context, jobs *code.RestoreJobs, op snapshot.Op, subject string) error {
	return jobs.Update(ctx, func() (*snapshot.Draft, error) {
		draft := &snapshot.Draft{Subject: subject, AtMs: jobs.Store.Now().UnixMilli()}
		news, err := jobs.Capture(draft, code.CapturedAfter)
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
