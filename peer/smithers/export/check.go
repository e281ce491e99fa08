package export

import (
	"errors"
	"maps"

	"github.com/git-smithers/git-smithers/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/peer/smithers/kept"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
)

// predictor is the type of tables.Predict. Predictions are part of the format, so a changed prediction restores
// wrong rows. Tests use another predictor to prove that checkImported detects such a change.
type predictor func(*tables.Facts, source.Table, []tables.OutputColumn) ([]source.Row, error)

// errNotImported means that the restored rows differ from the imported rows.
var errNotImported = errors.New("the restored rows differ from the imported rows")

// checkImported returns errNotImported if the rows of a run that is unchanged since its import do not have a digest
// that the import stored. It does not check a changed run. An old version stored only the digest of the rows with
// absolute paths. checkImported refuses such an import if the paths now have another root.
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
