package timeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// restoring is one restore of a run's code in a working copy.
type restoring struct {
	store   *Store
	copy    *WorkingCopy
	name    string // of the task's own worktree that copy is; "" for the run's working copy
	head    *Head
	want    *snapshot.VCS
	subject string // of the frame that records it
	// started and finished are the events of a revert, nil for a restore. The error is
	// why it failed.
	started  func() snapshot.Event
	finished func(error) snapshot.Event
}

// do restores, and adds to out what it did. With dryRun it only finds out.
func (r *restoring) do(ctx context.Context, out *Restored, dryRun bool) (*Restored, error) {
	have, err := r.copy.read(ctx, scopeLike(r.want))
	if err != nil {
		return nil, Explain(err)
	}
	defer have.Close() //nolint:errcheck // a quarantine that stays is removed by a later capture
	plan, err := r.copy.workspace.Plan(ctx, have, r.want.Tree, r.want.LeftOut...)
	if err != nil {
		return nil, Explain(err)
	}
	if len(plan.Refused) > 0 {
		return nil, Explain(&jjbridge.RefusedError{Refused: plan.Refused})
	}
	out.Changes = append([]jjbridge.PathChange{}, plan.Changes...)
	out.Root, out.Name = r.copy.Root(), r.name
	if out.Running, err = r.runningAttempts(); err != nil {
		return nil, Explain(err)
	}
	if dryRun {
		return out, nil
	}
	if err := r.save(ctx, have, out); err != nil {
		return nil, err
	}
	if len(plan.Changes) > 0 {
		if err := r.copy.workspace.Restore(ctx, plan); err != nil {
			return nil, r.failed(ctx, err)
		}
	}
	// The files are restored: whoever has had enough by now gets that recorded all the same.
	if err := r.record(context.WithoutCancel(ctx), have, plan, out); err != nil {
		return nil, err
	}
	return out, nil
}

// scopeLike is the scope in which the files that stand in the working copy are what
// those of v can be compared with. What v never looked at is not in it, and so is
// left alone.
func scopeLike(v *snapshot.VCS) string {
	left := slices.ContainsFunc(v.LeftOut, func(l snapshot.LeftOut) bool { return l.Reason == snapshot.LeftUntracked })
	if v.Scope == snapshot.ScopeTracked || left {
		return snapshot.ScopeTracked
	}
	return snapshot.ScopeAll
}

// save appends a frame with what is in the working copy, unless the run's tip has it.
func (r *restoring) save(ctx context.Context, have *jjbridge.Captured, out *Restored) error {
	var saves bool
	err := r.head.appendRetrying(ctx, func() (*snapshot.Draft, error) {
		tip, err := r.head.entry.VCSRevision()
		if err != nil {
			return nil, err
		}
		known := worktreeOf(tip, r.name)
		saves = known == nil || known.Tree != have.VCS.Tree
		draft := &snapshot.Draft{Subject: "before: " + r.subject}
		if r.started != nil {
			draft.Events = []snapshot.Event{r.started()}
		} else if !saves {
			return nil, nil
		}
		if saves {
			draft.Frame, draft.Subject = true, "working copy saved; "+draft.Subject
			draft.Objects = have.Objects
			draft.VCS, err = r.withWorktree(tip, have.VCS)
		}
		return draft, err
	})
	if err == nil && saves {
		out.Saved = r.newest()
	}
	return err
}

// record appends the frame that says what the working copy has become.
func (r *restoring) record(ctx context.Context, before *jjbridge.Captured, plan *jjbridge.Plan, out *Restored) error {
	now := r.after(ctx, before, plan)
	defer now.Close() //nolint:errcheck // see do
	if r.copy.compare(now, r.want) {
		// What is there besides may be a secret that was ignored a moment ago.
		now = &jjbridge.Captured{VCS: now.VCS}
		now.VCS.Tree, now.VCS.Scope = r.want.Tree, r.want.Scope
		now.VCS.LeftOut, now.VCS.LeftOutMore = r.want.LeftOut, r.want.LeftOutMore
	}
	var records bool
	err := r.head.appendRetrying(ctx, func() (*snapshot.Draft, error) {
		tip, err := r.head.entry.VCSRevision()
		if err != nil {
			return nil, err
		}
		draft := &snapshot.Draft{Subject: r.subject}
		if r.finished != nil {
			draft.Events = []snapshot.Event{r.finished(nil)}
		}
		known := worktreeOf(tip, r.name)
		records = known == nil || known.Tree != now.VCS.Tree
		if records {
			draft.Frame, draft.Objects = true, now.Objects
			draft.VCS, err = r.withWorktree(tip, now.VCS)
		} else if r.finished == nil {
			return nil, nil
		}
		return draft, err
	})
	if err != nil {
		return fault.New(fault.CodeOf(err), "the files are restored, but no frame says so: %w", err)
	}
	if records {
		out.Frame = r.newest()
	}
	return nil
}

// after is the working copy when its files are restored.
func (r *restoring) after(ctx context.Context, before *jjbridge.Captured, plan *jjbridge.Plan) *jjbridge.Captured {
	wanted := &jjbridge.Captured{VCS: before.VCS}
	wanted.VCS.Tree, wanted.VCS.Altered, wanted.VCS.AlteredMore = r.want.Tree, r.want.Altered, r.want.AlteredMore
	if before.VCS.Type == snapshot.VCSGit && len(before.VCS.Altered)+len(r.want.Altered) == 0 && plan.Settled() {
		return wanted
	}
	now, err := r.copy.read(ctx, scopeLike(r.want))
	if err != nil {
		r.store.warn(fmt.Errorf("the restored files are not looked at again: %w", err))
		wanted.VCS.LeftOut, wanted.VCS.LeftOutMore = r.want.LeftOut, r.want.LeftOutMore
		return wanted
	}
	return now
}

// failed records that a revert failed, and explains why.
func (r *restoring) failed(ctx context.Context, cause error) error {
	unfinished := errors.Is(cause, jjbridge.ErrUnfinished)
	cause = Explain(cause)
	if known, ok := errors.AsType[*fault.Error](cause); ok && unfinished {
		worktree := ""
		if r.name != "" {
			worktree = " --worktree " + r.name
		}
		cause = known.Hint("some files were changed and others were not; what was there before is %[1]s: "+
			"`git smithers restore %[1]s%[2]s` brings it back", r.newest(), worktree)
	}
	if r.finished == nil {
		return cause
	}
	err := r.head.appendRetrying(context.WithoutCancel(ctx), func() (*snapshot.Draft, error) {
		return &snapshot.Draft{Subject: "failed: " + r.subject, Events: []snapshot.Event{r.finished(cause)}}, nil
	})
	if err != nil {
		r.store.warn(fmt.Errorf("record that the revert failed: %w", err))
	}
	return cause
}

// newest is the address of the run's newest frame.
func (r *restoring) newest() *Address { return &Address{r.head.row.ID, r.head.row.Frame} }

// worktreeOf is what v says of a task's own worktree or, without a name, of the run's
// working copy; nil where it says nothing.
func worktreeOf(v *snapshot.VCS, name string) *snapshot.VCS {
	if v == nil || name == "" {
		return v
	}
	for i := range v.Worktrees {
		if v.Worktrees[i].Name == name {
			return &v.Worktrees[i].VCS
		}
	}
	return nil
}

// withWorktree is tip with what was captured in r's working copy.
func (r *restoring) withWorktree(tip *snapshot.VCS, captured snapshot.VCS) (*snapshot.VCS, error) {
	var err error
	if captured.Attempts, err = r.runningAttempts(); err != nil {
		return nil, err
	}
	var others []snapshot.Worktree
	if tip != nil {
		others = tip.Worktrees
	}
	if r.name == "" {
		captured.Worktrees = slices.Clone(others)
		return &captured, nil
	}
	out := snapshot.VCS{Type: captured.Type}
	if tip != nil {
		out = *tip
	}
	out.Worktrees = slices.DeleteFunc(slices.Clone(others), func(w snapshot.Worktree) bool { return w.Name == r.name })
	out.Worktrees = append(out.Worktrees, snapshot.Worktree{Name: r.name, VCS: captured})
	slices.SortFunc(out.Worktrees, func(a, b snapshot.Worktree) int { return strings.Compare(a.Name, b.Name) })
	return &out, nil
}

// runningAttempts are the keys of the attempts that work in r's working copy while it is
// read, as far as the run's tip knows.
func (r *restoring) runningAttempts() ([]string, error) {
	if r.head.row.Status != snapshot.RunRunning {
		return nil, nil
	}
	attempts, err := r.head.entry.Attempts()
	if err != nil {
		return nil, err
	}
	var keys []string
	for row, err := range attempts.Rows() {
		if err != nil {
			return nil, err
		}
		a, err := snapshot.DecodeAttempt(row)
		if err != nil {
			return nil, err
		}
		if a.State == snapshot.AttemptInProgress && a.Worktree == r.name {
			keys = append(keys, row.Key)
		}
	}
	slices.Sort(keys)
	return keys, nil
}

// appendRetrying appends what build makes of the tip, and builds it again while others
// move the tip. A nil draft appends nothing.
func (h *Head) appendRetrying(ctx context.Context, build func() (*snapshot.Draft, error)) error {
	for try := 1; ; try++ {
		draft, err := build()
		if err != nil || draft == nil {
			return Explain(err)
		}
		if err = h.Append(ctx, *draft); fault.CodeOf(err) != fault.Conflict || err == nil {
			return err
		}
		if err := pause(ctx, try); err != nil {
			return Explain(err)
		}
		if err := h.Refresh(ctx); err != nil {
			return err
		}
	}
}
