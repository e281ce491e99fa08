package smithers

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/smithersdb"
	"github.com/git-smithers/git-smithers/timeline"
)

// ExportPredicting is Export with another prediction: change edits the predicted rows of a table.
func ExportPredicting(ctx context.Context, s *timeline.Store, req ExportRequest, change func(table string, rows []smithersdb.Row)) error {
	_, err := exportPredicting(ctx, s, req, func(f *facts, table smithersdb.Table, columns []outputColumn) ([]smithersdb.Row, error) {
		rows, err := predict(f, table, columns)
		change(table.Name, rows)
		return rows, err
	})
	return err
}
