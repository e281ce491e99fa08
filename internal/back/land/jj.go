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

// jjLanding is a landing in a jj workspace. The changes become commits of git, which jj imports and rebases.
type jjLanding struct {
	s   *timeline.Store
	w   *jjbridge.Workspace
	req Request
	out *Result

	at     *jjbridge.JJChange // @ before the landing
	onto   []string           // the commits on which the new change is
	merged *jjbridge.Merged   // a forecast by git of what jj merges
	all    []change
	// base is a commit with the files of the first frame, and commits are those with the changes, oldest first.
	base    string
	commits []string
	keeper  string // the bookmark by which jj imports the commits
	record  record
}

// landJJ lands in a jj workspace: as a new change on @ or, if @ is fresh, in the place of @.
func landJJ(ctx context.Context, s *timeline.Store, req Request) (*Result, error) {
	if req.Mode == Apply {
		req.Mode = Commit
	}
	l := &jjLanding{s: s, w: s.Workspace(), req: req, out: newResult(s, req)}
	if err := underwayBesideJJ(l.w, fault.LandRefused, ""); err != nil {
		return nil, err
	}
	if env := l.w.JJIdentity(ctx); env != nil {
		l.w = l.w.WithEnv(env...)
	}
	if req.Mode == Branch {
		if err := freeBranch(ctx, l.w, req.Branch); err != nil {
			return nil, err
		}
	}
	job := &files.RestoreJob{
		Store: s, Copy: files.WorkingCopyOf(s), Want: &snapshot.VCS{Scope: snapshot.ScopeAll}, Merge: l.forecast, Out: new(files.RestoreResult),
	}
	jobs := &files.RestoreJobs{Store: s, All: []*files.RestoreJob{job}, Of: req.entries(), DryRun: req.DryRun}
	defer jobs.Close()
	if err := jobs.Prepare(ctx); err != nil {
		return nil, landRefused(err)
	}
	if len(l.out.Changes) == 0 && len(l.merged.Conflicts) == 0 {
		return l.out, nil
	}
	if req.DryRun {
		var trees []objstore.ID
		for _, one := range l.all {
			trees = append(trees, one.To)
		}
		l.out.Conflicts, l.out.Branch = l.merged.Paths(), req.Branch
		return req.wouldSay(l.out, l.all[0].step.From.vcs.Tree, trees), nil
	}
	if err := l.makeCommits(ctx); err != nil {
		return nil, timeline.Explain(err)
	}
	return l.land(ctx, jobs, job)
}

// underwayBesideJJ returns an error with a code if git has begun an operation in a jj workspace beside git and not finished it: jj, which moves
// HEAD, would end it without a word. run is the landing's run for an undo, or "".
func underwayBesideJJ(w *jjbridge.Workspace, code fault.Code, run string) error {
	if _, err := os.Lstat(filepath.Join(w.Root, ".git")); err != nil {
		return nil //nolint:nilerr // git works elsewhere
	}
	return refuseUnderway(w, code, run)
}

// refuseUnderway returns an error with a code if git has begun an operation and not finished it.
func refuseUnderway(w *jjbridge.Workspace, code fault.Code, run string) error {
	operation, err := w.Underway()
	if err != nil || operation == "" {
		return timeline.Explain(err)
	}
	out := fault.New(code, "a %s is under way", operation).Hint("finish it, or take it back with `git %s --abort`", fault.Word(operation))
	if run != "" {
		out = out.Detail("runId", run)
	}
	return out
}

// forecast merges the changes with git, to find out what jj will change. It returns the files to expect.
func (l *jjLanding) forecast(ctx context.Context, have *jjbridge.CapturedFiles) (*snapshot.VCS, error) {
	var err error
	if l.at, err = l.w.JJChangeAt(ctx, "@"); err != nil {
		return nil, timeline.Explain(err)
	}
	if l.at == nil {
		return nil, fault.New(fault.LandRefused, "the workspace has no working-copy commit").Hint("run `jj workspace update-stale`")
	}
	l.onto = []string{l.at.Commit}
	if l.at.Fresh && l.req.Mode == Commit && len(l.at.Parents) > 0 {
		l.onto = l.at.Parents
	}
	all, left, err := changesOf(ctx, l.s, have, l.req.Steps)
	if err != nil {
		return nil, err
	}
	slices.Sort(left)
	l.all, l.out.LeftOut = all, slices.Compact(left)
	here := have.VCS.Tree
	if l.merged, _, err = (merging{l.s, have, l.req.Label}).onto(ctx, here, all); err != nil {
		return nil, err
	}
	if err := l.w.CheckTree(ctx, have, here, l.merged.Tree); err != nil {
		return nil, refused(err)
	}
	if len(l.merged.Conflicts) > 0 && l.req.Mode == Branch {
		return nil, inConflict(l.merged.Paths(), "branch %s was not made", l.req.Branch).
			Hint("nothing was changed; land without --branch to resolve the conflicts in the working copy")
	}
	if !l.req.EachOwn && len(all) > 1 { // one commit has the changes of all steps
		folded, _, err := (merging{l.s, have, l.req.Label}).onto(ctx, all[0].To, all[1:])
		if err != nil {
			return nil, err
		}
		if len(folded.Conflicts) > 0 {
			return nil, stepConflict(all[len(all)-1], folded.Paths())
		}
		l.all[0].To = folded.Tree
		l.all = l.all[:1]
	}
	if err := keep(ctx, l.s, l.w, l.req.DryRun, have, l.merged.Tree); err != nil {
		return nil, err
	}
	objects := l.s.Objects().Begin() // reads the quarantine, and is never committed
	if err := have.Objects(objects); err != nil {
		return nil, timeline.Explain(err)
	}
	changes, err := files.ChangedFiles(ctx, objects, here, l.merged.Tree, "")
	if err != nil {
		return nil, timeline.Explain(err)
	}
	l.out.Changes = append(l.out.Changes[:0], changes...)
	want := have.VCS
	want.Tree = l.merged.Tree
	return &want, nil
}

// makeCommits makes the commits that jj imports. No ref reaches them yet.
func (l *jjLanding) makeCommits(ctx context.Context) (err error) {
	first := l.all[0].step.From
	// The name in the message makes the commits differ from those of an earlier landing in the same second. jj derives the
	// ids of changes from them.
	l.keeper = keeperPrefix + timeline.NewRunID()
	if l.base, err = l.w.CommitRoot(ctx, first.vcs.Tree.String(), "the files of "+first.Address.String()+" for "+l.keeper+"\n"); err != nil {
		return err
	}
	parent, tree := l.base, first.vcs.Tree
	for _, one := range l.all {
		message := l.req.Message
		if l.req.EachOwn {
			message = one.step.Message
		}
		if one.To == tree {
			continue
		}
		if parent, err = l.w.CommitTree(ctx, one.To, parent, message, false); err != nil {
			return err
		}
		l.commits, tree = append(l.commits, parent), one.To
	}
	return nil
}

// land records that the landing begins, lets jj make the change, and records that it is done.
func (l *jjLanding) land(ctx context.Context, jobs *files.RestoreJobs, job *files.RestoreJob) (*Result, error) {
	l.record = newRecord(l.req)
	l.record.Mode, l.record.WorkCopy, l.record.Head = l.req.Mode, l.w.Name, l.at.Commit
	l.record.Commits, l.record.Base, l.record.Keeper = l.commits, l.base, l.keeper
	l.record.Change, l.record.Parents = l.at.Change, l.at.Parents
	var before *jjbridge.CapturedFiles
	if l.req.Mode != Branch {
		before = job.Have()
	} else {
		jobs = &files.RestoreJobs{Store: l.s}
	}
	head, err := createRun(ctx, l.s, l.record, before)
	if err != nil {
		return nil, err
	}
	jobs.Head = head
	l.out.Run = head.Row().ID
	l.out.Saved = &timeline.Address{Run: l.out.Run}
	if err := begin(l.s, l.out.Run); err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	if err := l.change(ctx); err != nil {
		return nil, l.unfinished(err)
	}
	for _, one := range jobs.All {
		if err := one.Recapture(ctx); err != nil {
			return nil, l.unfinished(err)
		}
	}
	op := snapshot.Op{Kind: snapshot.OpLand, Files: len(jobs.All) > 0}
	if err := recordOp(ctx, jobs, op, "landed "+l.req.Label); err != nil {
		return nil, l.unfinished(err)
	}
	if len(l.out.Conflicts) > 0 {
		return l.out, inConflict(l.out.Conflicts, "%s is landed with conflicts", l.req.Label).
			Hint("resolve them in the files, or with `jj resolve`").
			Hint("`git smithers land --abort` takes the landing back")
	}
	return l.out, end(l.s, l.out.Run)
}

// unfinished adds the hint that takes an unfinished landing back.
func (l *jjLanding) unfinished(err error) error { return (&gitLanding{}).unfinished(err) }

// change lets jj import the commits, rebase them, and edit the last.
func (l *jjLanding) change(ctx context.Context) error {
	if err := l.w.ImportToJJ(ctx, l.keeper, l.commits[len(l.commits)-1]); err != nil {
		return err
	}
	args := []string{"rebase", "--quiet", "--source=" + l.commits[0]}
	for _, commit := range l.onto {
		args = append(args, "--destination="+commit)
	}
	if _, _, err := l.w.RunJJ(ctx, args...); err != nil {
		return err
	}
	switch l.req.Mode {
	case Branch:
		if _, _, err := l.w.RunJJ(ctx, "bookmark", "create", "--quiet", "--revision="+l.keeper, "--", l.req.Branch); err != nil {
			return err
		}
		l.out.Branch = l.req.Branch
	default:
		if _, _, err := l.w.RunJJ(ctx, "edit", "--quiet", "--", l.keeper); err != nil {
			return err
		}
	}
	now, err := l.w.JJChangeAt(ctx, l.keeper)
	if err != nil {
		return err
	}
	l.out.Change, l.out.Commit = now.Change, now.Commit
	if now.Conflict {
		if l.out.Conflicts, err = l.w.JJConflicts(ctx, l.keeper); err != nil {
			return err
		}
	}
	if err := l.w.ForgetJJBookmark(ctx, l.keeper); err != nil {
		return err
	}
	_, _, err = l.w.RunJJ(ctx, "abandon", "--quiet", "--", l.base)
	return err
}

// landedChanges returns the changes of a landing that jj still shows, oldest first.
func (t *TakeBack) landedChanges(ctx context.Context) ([]*jjbridge.JJChange, error) {
	w := t.s.Workspace()
	var all []*jjbridge.JJChange
	for _, commit := range t.r.Commits {
		id, err := objstore.ParseID(commit)
		if err != nil {
			return nil, err
		}
		imported, err := w.JJChangeAt(ctx, "present("+id.String()+")")
		if err != nil {
			return nil, err
		}
		if imported == nil {
			continue
		}
		now, err := w.JJChangeAt(ctx, "present("+imported.Change+")")
		if err != nil {
			return nil, err
		}
		if now != nil {
			all = append(all, now)
		}
	}
	return all, nil
}

// checkJJ checks that the landed change is @, or that a landed branch is where it was, and that no other change is on it.
func (t *TakeBack) checkJJ(ctx context.Context) error {
	if err := underwayBesideJJ(t.s.Workspace(), fault.UndoRefused, t.run); err != nil {
		return err
	}
	landed, err := t.landedChanges(ctx)
	if err != nil {
		return timeline.Explain(err)
	}
	at, err := t.s.Workspace().JJChangeAt(ctx, "@")
	if err != nil {
		return timeline.Explain(err)
	}
	if t.r.Mode == Branch {
		if err := t.checkBookmark(ctx, landed); err != nil {
			return err
		}
	}
	if len(landed) == 0 || at == nil {
		return nil
	}
	last := landed[len(landed)-1]
	edited := at.Change != last.Change && at.Change != t.r.Change
	if t.r.Mode == Branch {
		edited = at.Change == last.Change
	}
	if !edited {
		var own []string
		for _, one := range landed {
			own = append(own, one.Change)
		}
		all := strings.Join(own, "|")
		later, err := t.s.Workspace().JJChangeAt(ctx, "descendants("+all+") ~ ("+all+")")
		if err != nil {
			return timeline.Explain(err)
		}
		edited = later != nil
	}
	if !edited {
		return nil
	}
	return fault.New(fault.UndoRefused, "another change was made or edited since the landing %q", t.run).
		Hint("`jj abandon %s` takes its change out", fault.Word(last.Change)).Detail("runId", t.run)
}

// checkBookmark checks that the bookmark of a landed branch is on the last landed change, or deleted.
func (t *TakeBack) checkBookmark(ctx context.Context, landed []*jjbridge.JJChange) error {
	at, err := t.s.Workspace().JJChangeAt(ctx, `bookmarks(exact:"`+strings.ReplaceAll(t.r.Branch, `"`, `\"`)+`")`)
	if err != nil {
		return timeline.Explain(err)
	}
	if at == nil || len(landed) > 0 && at.Change == landed[len(landed)-1].Change {
		return nil
	}
	return t.branchMoved()
}

// leave edits the change that was edited before the landing, or a new change in its place. The change gets the files of
// the working copy, because people may have edited files since the landing. last is the landed change, which is @.
func (t *TakeBack) leave(ctx context.Context, last *jjbridge.JJChange) error {
	w := t.s.Workspace()
	before, err := w.JJChangeAt(ctx, "present("+t.r.Change+")")
	if err != nil {
		return err
	}
	commands := [][]string{
		{"restore", "--quiet", "--restore-descendants", "--from=" + last.Change, "--to=" + t.r.Change},
		{"edit", "--quiet", "--", t.r.Change},
	}
	if before == nil { // jj has abandoned the fresh change
		commands = [][]string{
			append([]string{"new", "--quiet", "--"}, t.r.Parents...),
			{"restore", "--quiet", "--from=" + last.Change},
		}
	}
	for _, args := range commands {
		if _, _, err := w.RunJJ(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

// doJJ abandons the landed changes, and edits what was edited before.
func (t *TakeBack) doJJ(ctx context.Context) error {
	w := t.s.Workspace()
	landed, err := t.landedChanges(ctx)
	if err != nil {
		return err
	}
	at, err := w.JJChangeAt(ctx, "@")
	if err != nil {
		return err
	}
	if n := len(landed); n > 0 && at != nil && at.Change == landed[n-1].Change && t.r.Mode != Branch {
		if err := t.leave(ctx, landed[n-1]); err != nil {
			return err
		}
	}
	for _, bookmark := range []string{t.r.Keeper, t.r.Branch} {
		if bookmark == "" {
			continue
		}
		if err := w.ForgetJJBookmark(ctx, bookmark); err != nil {
			return err
		}
	}
	var revsets []string
	for _, one := range landed {
		revsets = append(revsets, one.Change)
	}
	if base, err := w.JJChangeAt(ctx, "present("+t.r.Base+") & mutable()"); err != nil {
		return err
	} else if base != nil {
		revsets = append(revsets, "present("+base.Change+")")
	}
	if len(revsets) == 0 {
		return nil
	}
	_, _, err = w.RunJJ(ctx, "abandon", "--quiet", "--", strings.Join(revsets, "|"))
	return err
}
