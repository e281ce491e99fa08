package writeahead

import (
	"context"
	"errors"

	"github.com/git-smithers/git-smithers/internal/refs/wal"
)

// Left is what a log of another process has and no publication takes: the entries of one run that follow nothing, or a log that
// nobody can read.
type Left struct {
	Path string
	Run  string // "" if the log cannot be read
	Err  error  // says why, and what to do
}

// Left publishes what other processes have logged, and returns what stays. The result is empty, and not nil, if nothing stays.
func (l *Logs) Left(ctx context.Context) ([]Left, error) {
	all := []Left{}
	err := l.others(func(o *log) error {
		if err := l.publishOther(ctx, o); errors.Is(err, wal.ErrVersion) {
			all = append(all, Left{Path: o.path, Err: err})
			return nil
		} else if err != nil {
			return err
		}
		left, err := l.leftIn(o)
		all = append(all, left...)
		return err
	})
	return all, err
}

// leftIn returns what stays in a log whose entries were published as far as they can be.
func (l *Logs) leftIn(o *log) ([]Left, error) {
	entries, err := o.read()
	switch {
	case errors.Is(err, wal.ErrDamaged):
		return []Left{{Path: o.path, Err: errDamaged(err)}}, nil
	case errors.Is(err, wal.ErrUnfinished):
		return nil, nil
	case err != nil:
		return nil, err
	}
	var left []Left
	for _, of := range byRun(entries) {
		if _, err := l.plan(of); err != nil {
			return nil, err
		}
		for _, e := range of {
			if !e.lost {
				continue
			}
			if pruned, err := l.pruned(e); err != nil {
				return nil, err
			} else if !pruned {
				left = append(left, Left{Path: o.path, Run: e.Run, Err: errLost(e, o.path)})
			}
			break // the entries after it follow it
		}
	}
	return left, nil
}
