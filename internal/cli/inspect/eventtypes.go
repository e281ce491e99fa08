package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
)

// warnOfTypes warns if query names types of events, but the run has no event of any of these types. The warning has the
// type of the run's events that is most similar to the first type in query. If no type is similar, the warning lists
// all types of the run's events. The error is not nil only if the types cannot be read.
func warnOfTypes(ctx context.Context, s *session.Session, store *timeline.Store, query sqliteindex.EventQuery) error {
	if len(query.Types) == 0 {
		return nil
	}
	index, err := store.Details(ctx, query.RunID)
	if err != nil {
		return err
	}
	types, err := index.EventTypes(ctx, query.RunID)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(query.Types, func(asked string) bool { return slices.Contains(types, asked) }) {
		return nil
	}
	advice := "the types of its events are " + strings.Join(types, ", ")
	if near, ok := plain.Nearest(query.Types[0], types); ok {
		advice = "did you mean " + near + "?"
	}
	s.Warn(fmt.Errorf("run %s has no event of type %s: %s", query.RunID, strings.Join(query.Types, " or "), advice))
	return nil
}
