package timeline

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// restores are what one operation on a run restores, in one or several working copies.
type restores struct {
	store *Store
	head  *Head
	all   []*restoring
	// fence refuses to append on a tip on which it must not be; nil: on none.
	fence func() error
}

// prepare finds out what there is to do in all working copies, and whether it can be
// done. It touches nothing.
func (r *restores) prepare(ctx context.Context) error {
	var refused []jjbridge.Refusal
	for _, one := range r.all {
		if err := one.prepare(ctx); err != nil {
			return Explain(err)
		}
		var err error
		if one.out.Running, err = r.running(one.name); err != nil {
			return Explain(err)
		}
		refused = append(refused, one.plan.Refused...)
	}
	if len(refused) > 0 {
		return Explain(&jjbridge.RefusedError{Refused: refused})
	}
	return nil
}

func (r *restores) close() {
	for _, one := range r.all {
		one.close()
	}
}

// changes tells whether there is anything to restore.
func (r *restores) changes() bool {
	return slices.ContainsFunc(r.all, func(one *restoring) bool { return len(one.plan.Changes) > 0 })
}

// update is Head.Update behind the fence.
func (r *restores) update(ctx context.Context, build func() (*snapshot.Draft, error)) error {
	return r.head.Update(ctx, func() (*snapshot.Draft, error) {
		if r.fence != nil {
			if err := r.fence(); err != nil {
				return nil, err
			}
		}
		return build()
	})
}

// save appends a frame with what is in the working copies, unless the run's tip has it,
// before what subject says is done. The events, which are made for the number of the
// newest frame once it is there, are appended in any case.
func (r *restores) save(ctx context.Context, subject string, events func(newest int64) []snapshot.Event) error {
	var saved []*restoring
	err := r.update(ctx, func() (*snapshot.Draft, error) {
		draft := &snapshot.Draft{Subject: "before: " + subject}
		var err error
		saved, err = r.capture(draft, func(one *restoring) *jjbridge.Captured { return one.have })
		if err != nil {
			return nil, err
		}
		newest := r.head.row.Frame
		if len(saved) > 0 {
			draft.Frame, draft.Subject = true, "working copy saved; "+draft.Subject
			newest++
		}
		if events != nil {
			draft.Events = events(newest)
		} else if len(saved) == 0 {
			return nil, nil //nolint:nilnil // nothing is to be appended
		}
		return draft, nil
	})
	if err == nil {
		for _, one := range saved {
			one.out.Saved = r.newest()
		}
	}
	return err
}

// restore restores the files of all working copies. Where that fails in one, those before
// it get their files back.
func (r *restores) restore(ctx context.Context) error {
	for i, one := range r.all {
		err := one.restore(ctx)
		if err == nil {
			continue
		}
		for _, done := range r.all[:i] {
			if err := done.takeBack(context.WithoutCancel(ctx)); err != nil {
				r.store.warn(fmt.Errorf("give %s its files back, which are in %s: %w", done.copy.Root(), r.newest(), err))
			}
		}
		return r.explain(one, err)
	}
	// The files are restored: whoever has had enough by now gets that recorded all the same.
	for _, one := range r.all {
		one.look(context.WithoutCancel(ctx))
	}
	return nil
}

// explain says why the restore of one working copy failed, and where its files are.
func (r *restores) explain(one *restoring, cause error) error {
	unfinished := errors.Is(cause, jjbridge.ErrUnfinished)
	cause = Explain(cause)
	known, ok := errors.AsType[*fault.Error](cause)
	if !ok || !unfinished {
		return cause
	}
	worktree := ""
	if one.name != "" {
		worktree = " --worktree " + fault.Word(one.name)
	}
	before := r.newest().String()
	return known.Hint("some files were changed and others were not; what was there before is %s: "+
		"`git smithers restore %s%s` brings it back", before, fault.Word(before), worktree)
}

// capture puts into a draft what was found in the working copies, as far as the tip does
// not have it, and returns those in which there is news.
func (r *restores) capture(draft *snapshot.Draft, found func(*restoring) *jjbridge.Captured) ([]*restoring, error) {
	vcs, err := r.head.entry.VCSRevision()
	if err != nil {
		return nil, err
	}
	var news []*restoring
	for _, one := range r.all {
		captured := found(one).VCS
		if known := worktreeOf(vcs, one.name); known != nil && known.Tree == captured.Tree {
			continue
		}
		if captured.Attempts, err = r.running(one.name); err != nil {
			return nil, err
		}
		vcs, news = withWorktree(vcs, one.name, captured), append(news, one)
	}
	if len(news) == 0 {
		return nil, nil
	}
	draft.VCS = vcs
	draft.Objects = func(w objstore.Writer) error {
		for _, one := range news {
			if err := found(one).Objects(w); err != nil {
				return err
			}
			if len(one.out.Stayed) == 0 {
				continue
			}
			if err := one.have.Objects(w); err != nil { // what stays may be in no other capture
				return err
			}
		}
		return nil
	}
	return news, nil
}

// restored is what capture takes for what the files have become.
func restored(one *restoring) *jjbridge.Captured { return one.now }

// newest is the address of the run's newest frame.
func (r *restores) newest() *Address { return &Address{r.head.row.ID, r.head.row.Frame} }

// running are the keys of the attempts that work in the working copy of a name while it is
// read, as far as the run's tip knows.
func (r *restores) running(name string) ([]string, error) {
	if r.fence != nil || r.head.row.Status != snapshot.RunRunning {
		return nil, nil // whoever has claimed the run executes nothing
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
		if a.State == snapshot.AttemptInProgress && a.Worktree == name {
			keys = append(keys, row.Key)
		}
	}
	slices.Sort(keys)
	return keys, nil
}
