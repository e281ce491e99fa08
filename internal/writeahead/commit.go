package writeahead

import (
	"context"
	"errors"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
)

// Apply makes updates of refs, as [refs.DB.Apply] does.
type Apply func(ctx context.Context, updates ...refs.Update) error

// Commit writes a batch and moves the refs of updates at once, without a log. What this process has logged of the run whose tip is
// first in updates goes into the same pack. move makes the updates by the function that it gets; it may change them and try again.
func (l *Logs) Commit(ctx context.Context, batch *objstore.Batch, updates []refs.Update, move func(apply Apply, updates []refs.Update) error) error {
	if l.waits(updates[0].Name) {
		if done, err := l.commitLogged(ctx, batch, updates, move); done || err != nil {
			return err
		}
	}
	if err := l.behind(ctx, updates[0]); err != nil {
		return err
	}
	err := batch.Commit(ctx, func() error { return move(l.opts.Refs.Apply, updates) })
	if err == nil {
		l.moved(updates[0].Name, updates[0].New)
	}
	return err
}

// behind returns a conflict if another process has logged entries that go on from u.Old. It publishes them. The guard would find them,
// too, but only when the pack of the batch was made for nothing.
func (l *Logs) behind(ctx context.Context, u refs.Update) error {
	if of, ok := u.Name.Tip(); !ok || of != u.Name || u.Old.IsZero() {
		return nil
	}
	pending, err := l.Pending(u.Name, u.Old, false, true) //nolint:contextcheck // a gate is held for microseconds
	if err != nil || !pending {
		return err
	}
	if err := l.Publish(ctx); err != nil {
		return err
	}
	_, _, id, err := l.opts.Refs.Look(u.Name)
	if err == nil && id != u.Old {
		err = &refs.ConflictError{Name: u.Name, Expected: u.Old, Actual: id}
	}
	return err
}

// commitLogged does the work of Commit if the batch goes on from what this process has logged of the run. If it returns false
// without an error, what was logged is published, and Commit must go on without it.
func (l *Logs) commitLogged(ctx context.Context, batch *objstore.Batch, updates []refs.Update, move func(Apply, []refs.Update) error) (bool, error) {
	l.publishing.Lock()
	defer l.publishing.Unlock()
	l.mu.Lock()
	own := l.own
	l.mu.Unlock()
	if own == nil { // published meanwhile
		return false, nil
	}
	entries, err := own.read()
	if err != nil {
		return false, err
	}
	of := slices.DeleteFunc(slices.Clone(entries), func(e *entry) bool { return e.tip != updates[0].Name })
	through := updates[0].Old
	if len(of) == 0 || of[len(of)-1].New != through {
		return false, l.publishOwn(ctx)
	}
	m, err := l.plan(of)
	if err != nil || m == nil || m.last().New != through {
		return false, errors.Join(err, l.publishOwn(ctx))
	}
	if err := m.add(batch); err != nil {
		return false, err
	}
	updates = slices.Clone(updates)
	updates[0].Old = m.from
	err = batch.Commit(ctx, func() error {
		return move(func(ctx context.Context, updates ...refs.Update) error {
			return l.opts.Refs.Publish(ctx, through, updates...)
		}, updates)
	})
	if errors.Is(err, refs.ErrPending) || errors.Is(err, refs.ErrConflict) { // the tip, or the log, has gone on meanwhile
		return false, l.publishOwn(ctx)
	}
	if err != nil {
		return true, err
	}
	l.published(m, m.frames)
	l.moved(updates[0].Name, updates[0].New)
	return true, l.settle(ctx, own, entries)
}
