package export

import (
	"errors"
	"maps"

	"github.com/git-smithers/git-smithers/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/peer/smithers/kept"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
)

// predictor is tables.Predict, or another function in a test: predictions are part of the format, so that a changed one
// restores wrong rows.
type predictor func(*tables.Facts, source.Table, []tables.OutputColumn) ([]source.Row, error)

// errNotImported means that prediction and difference do not make the rows that were imported.
var errNotImported = errors.New("its rows are not those that were imported")

// checkImported compares the rows of a run that is as it was imported with the digests that the import stored. An import of
// an older version stored only the digest of the rows with their paths: in another folder its rows cannot be checked, and
// are refused.
func (x *runExport) checkImported(all kept.Rows) error {
	if !x.Exact || all.Has(x.Peer.Pass.Rows) {
		return nil
	}
	marked := maps.Clone(all.Rows)
	for _, table := range all.Tables {
		if !dbrow.HasPaths(table) {
			continue
		}
		rows, err := x.rowsAt(table, dbrow.RootMark)
		if err != nil {
			return err
		}
		marked[table.Name] = rows
	}
	all.Rows = marked
	if want := x.Peer.Pass.Movable; want != "" && all.Has(want) {
		return nil
	}
	return errNotImported
}
