package requests

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/app/telemetry"
	"github.com/git-smithers/git-smithers/internal/cache"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cron"
	"github.com/git-smithers/git-smithers/internal/treeref"
	"github.com/git-smithers/git-smithers/internal/upkeep/prune"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
)

// WholeIndex returns the index with details and with the tables of the whole repository.
func WholeIndex(ctx context.Context, store *timeline.Store) (*sqliteindex.Index, error) {
	index, err := store.Details(ctx)
	if err != nil {
		return nil, err
	}
	for _, table := range []interface {
		Index(ctx context.Context, index *sqliteindex.Index) error
	}{cache.Of(store), cron.Of(store), treeref.VectorsOf(store)} {
		if err := table.Index(ctx, index); err != nil {
			return nil, err
		}
	}
	return index, nil
}

// ReadMetrics returns the metrics of a store: of its history, and of its files. Labels have placeholders in place of secrets: the names of
// scorers are stored as they are, and metrics are made to be shown to others.
func ReadMetrics(ctx context.Context, s *session.Session, store *timeline.Store) ([]telemetry.Family, error) {
	index, err := WholeIndex(ctx, store)
	if err != nil {
		return nil, err
	}
	families, err := telemetry.ReadMetrics(ctx, index, s.Now())
	if err != nil {
		return nil, err
	}
	hide, err := app.SecretHider(store, 0)
	if err != nil {
		return nil, err
	}
	for _, f := range families {
		for _, sample := range f.Samples {
			for i, label := range sample.Labels {
				sample.Labels[i].Value = hide(label.Value)
			}
		}
	}
	return append(families, telemetry.FileMetrics(prune.MeasureFiles(store))), nil
}
