package export

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/timeline"
)

// RunsPredicting is Export with another prediction: change edits the predicted rows of a table.
func RunsPredicting(ctx context.Context, s *timeline.Store, req Request, change func(table string, rows []source.Row)) error {
	_, err := runsPredicting(ctx, s, req, func(f *tables.Facts, table source.Table, columns []tables.OutputColumn) ([]source.Row, error) {
		rows, err := tables.Predict(f, table, columns)
		change(table.Name, rows)
		return rows, err
	})
	return err
}
