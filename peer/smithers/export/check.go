package export

import (
	"errors"
	"maps"

	"github.com/git-smithers/git-smithers/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/peer/smithers/kept"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
)

// predictor is the type of tables.Predict. Tests replace the function to prove that a changed prediction is detected:
// predictions are part of the format, so a changed one restores wrong rows.
type predictor func(*tables.Facts, source.Table, []tables.OutputColumn) ([]source.Row, error)

// errNotImported means that the restored rows differ from the imported ones.
var errNotImported = errors.New("its rows are not those that were imported")

// checkImported compares the rows of a run that is unchanged since its import with the digests that the import
// stored. An old version stored only the digest of rows with their paths. The rows of such an import cannot be
// checked in another folder, and the export is refused.
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
