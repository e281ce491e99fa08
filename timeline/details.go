package timeline

import (
	"context"
	"errors"
	"slices"

	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/sqliteindex"
)

// Details is Index with the details of the runs named by their whole ids brought up to
// date, too; of all runs where none is named: nodes, events, mailboxes, ops, outputs. Of
// all runs, those that cannot be read are left out, with a warning for each.
func (s *Store) Details(ctx context.Context, runs ...string) (*sqliteindex.Index, error) {
	index, err := s.indexWith(ctx, func(index *sqliteindex.Index, ctx context.Context) error {
		return index.SyncDetails(ctx, runs...)
	})
	if err != nil {
		return nil, err
	}
	problems := index.Problems()
	if len(runs) == 0 {
		s.WarnOf(problems)
		return index, nil
	}
	for _, problem := range problems {
		broken, ok := errors.AsType[*sqliteindex.RunError](problem)
		if ok && slices.ContainsFunc(runs, func(run string) bool { return isRef(run, broken.Ref) }) {
			return nil, Explain(problem)
		}
	}
	return index, nil
}

// isRef reports whether a run's ref is the one with that component.
func isRef(run, component string) bool {
	own, err := refs.EscapeRun(run)
	return err == nil && own == component
}
