package desk

import (
	"context"

	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/cache"
	"github.com/git-smithers/git-smithers/timeline/cron"
	"github.com/git-smithers/git-smithers/timeline/vectors"
)

// WholeIndex returns the index with details and with the tables of the whole repository.
func WholeIndex(ctx context.Context, store *timeline.Store) (*sqliteindex.Index, error) {
	index, err := store.Details(ctx)
	if err != nil {
		return nil, err
	}
	for _, table := range []interface {
		Index(ctx context.Context, index *sqliteindex.Index) error
	}{cache.Of(store), cron.Of(store), vectors.Of(store)} {
		if err := table.Index(ctx, index); err != nil {
			return nil, err
		}
	}
	return index, nil
}
