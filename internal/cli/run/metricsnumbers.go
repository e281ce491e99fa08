package run

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/app/telemetry"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/timeline"
)

// numbers reads the metrics of a repository and of a supervisor of it. Safe for concurrent use.
type numbers struct {
	s       *session.Session
	store   *timeline.Store // of the supervisor
	appends *timeline.Durations
	retries func() int64
}

// measure makes the store of a supervisor count what it does. It must be called before the supervisor begins.
func measure(ctx context.Context, s *session.Session, store *timeline.Store) (*numbers, error) {
	index, err := store.Index(ctx)
	if err != nil {
		return nil, err
	}
	return &numbers{s: s, store: store, appends: store.MeasureAppends(), retries: index.Retries}, nil
}

// read returns the metrics. It opens the history anew, because the supervisor uses its own meanwhile.
func (n *numbers) read(ctx context.Context) ([]telemetry.Family, error) {
	var out []telemetry.Family
	err := n.s.WithStore(ctx, func(store *timeline.Store) (err error) {
		out, err = requests.ReadMetrics(ctx, n.s, store)
		return err
	})
	return append(out, telemetry.ProcessMetrics(n.store, n.appends, n.retries())...), err
}
