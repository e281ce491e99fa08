package land

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
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
	if l.req.Mode != Branch {
		if err := refuseUnderway(l.w, fault.LandRefused, ""); err != nil {
			return err
		}
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

// list sets l.out.Changes. The merge may have objects of c.
func (l *gitLanding) list(ctx context.Context, c *jjbridge.CapturedFiles) error {
	objects := l.s.Objects().Begin() // reads the quarantine, and is never committed
	if err := c.Objects(objects); err != nil {
		return timeline.Explain(err)
	}
	changes, err := files.ChangedFiles(ctx, objects, l.headTree, l.merged.Tree, "")
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
	sign := l.signs()
	if !l.req.EachOwn {
		commit, err := l.w.CommitTree(ctx, l.merged.Tree, l.head, l.req.Message, sign)
		l.out.Commit = commit
		return unsigned(err, sign)
	}
	parent, tree := l.head, l.headTree
	for i, next := range l.trees {
		if next == tree {
			continue
		}
		commit, err := l.w.CommitTree(ctx, next, parent, l.all[i].step.Message, sign)
		if err != nil {
			return unsigned(err, sign)
		}
		parent, tree = commit, next
	}
	l.out.Commit = parent
	return nil
}

// signs reports whether git would sign a commit, by the configuration.
func (l *gitLanding) signs() bool {
	sign, err := l.w.Repo.Config.Bool("commit.gpgsign", false)
	return sign && err == nil // git itself says what is wrong with another value
}

// unsigned explains an error of making a commit, which sign says was to be signed.
func unsigned(err error, sign bool) error {
	if err == nil || !sign {
		return timeline.Explain(err)
	}
	return fault.New(fault.LandRefused, "the commit could not be signed, as commit.gpgSign wants it: %w", err).
		Hint("nothing was changed; land without --commit or --branch, and commit by hand: `git commit`")
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
	if !l.req.DryRun {
		if err := files.Keep(ctx, l.s, c); err != nil {
			return nil, err
		}
	}
	if err := l.list(ctx, c); err != nil {
		return nil, err
	}
	if l.req.DryRun {
		l.out.Branch = l.req.Branch
		return l.req.wouldSay(l.out, l.headTree, l.trees), nil
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
	return l.out, l.done(ctx, &files.RestoreJobs{Store: l.s, Head: head})
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
