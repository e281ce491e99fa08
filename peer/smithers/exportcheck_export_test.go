package smithers

import (
	"context"

	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/timeline"
)

// ExportPredicting is Export with another prediction: change edits the predicted rows of a table.
func ExportPredicting(ctx context.Context, s *timeline.Store, req ExportRequest, change func(table string, rows []source.Row)) error {
	_, err := exportPredicting(ctx, s, req, func(f *tables.Facts, table source.Table, columns []tables.OutputColumn) ([]source.Row, error) {
		rows, err := tables.Predict(f, table, columns)
		change(table.Name, rows)
		return rows, err
	})
	return err
}
