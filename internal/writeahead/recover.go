package writeahead

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/git-smithers/git-smithers/internal/refs/wal"
	"github.com/git-smithers/git-smithers/refs"
)

// publishOther publishes the entries of a log of another process, and removes the log if the process is dead and all is published.
func (l *Logs) publishOther(ctx context.Context, o *log) error {
	entries, err := o.read()
	switch {
	case errors.Is(err, wal.ErrDamaged):
		l.opts.Warn(errDamaged(err))
		return nil
	case errors.Is(err, wal.ErrUnfinished): // its writer begins it, or died before it did
	default:
		if publishErr := l.publish(ctx, entries); publishErr != nil {
			return errors.Join(err, publishErr)
		}
		if err := errors.Join(err, o.mark(l.opts.FS, nil, entries)); err != nil {
			return err
		}
	}
	if dead, err := l.opts.Refs.OwnerDead(o.owner()); err != nil || !dead {
		return err
	}
	return l.recover(ctx, o)
}

// errDamaged returns the warning about a log with a damaged head.
func errDamaged(err error) error {
	return fmt.Errorf("%w; the file stays, since it can have entries that were acknowledged", err)
}

// recover removes the log of a dead process, if all of it is published.
func (l *Logs) recover(ctx context.Context, o *log) error {
	if same, err := o.lock(ctx, true); err != nil || !same {
		return err
	}
	entries, err := o.read() // the owner may have died after the first look
	if err != nil && !errors.Is(err, wal.ErrUnfinished) {
		return err
	}
	for _, of := range byRun(entries) {
		if m, err := l.plan(of); err != nil || m != nil {
			return err // the next look publishes what was logged meanwhile
		}
	}
	for _, e := range entries {
		if e.done {
			continue
		}
		if pruned, err := l.pruned(e); err != nil {
			return err
		} else if !pruned {
			l.opts.Warn(errLost(e, o.path))
			return nil
		}
	}
	if err := l.opts.Failpoint(FailRecovered); err != nil {
		return err
	}
	if err := l.opts.FS.Remove(o.path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// pruned reports whether a run was pruned, and not begun again: all of its entries had been published before.
func (l *Logs) pruned(e *entry) (bool, error) {
	_, _, tip, err := l.opts.Refs.Look(e.tip)
	if err != nil || !tip.IsZero() {
		return false, err
	}
	stone, err := refs.Gone(e.Run)
	if err != nil {
		return false, err
	}
	_, _, id, err := l.opts.Refs.Look(stone)
	return !id.IsZero(), err
}
