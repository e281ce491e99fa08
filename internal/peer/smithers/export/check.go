package export

import (
	"errors"
	"fmt"
	"maps"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/stored"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
)

// predictor is the type of tables.Predict. Predictions are part of the format: with a changed prediction, an
// export would restore wrong rows. Tests use another predictor to prove that checkImported detects such a
// change.
type predictor func(*tables.Facts, source.Table, []tables.OutputColumn) ([]source.Row, error)

// errNotImported means that the restored rows differ from the imported rows.
var errNotImported = errors.New("the restored rows differ from the imported rows")

// errOtherPredictions means that a run was imported by a version with other predictions.
var errOtherPredictions = errors.New("it was imported by a version of git-smithers that stores rows in another form")

// checkPredictions returns an error that wraps errOtherPredictions if the run was imported with other
// predictions than this program makes. This program would restore wrong rows of such a run.
func (x *runExport) checkPredictions() error {
	if had := x.Peer.Pass; had != (stored.Pass{}) && had.Predictions != stored.Predictions {
		return fmt.Errorf("%w: form %d, not %d", errOtherPredictions, had.Predictions, stored.Predictions)
	}
	return nil
}

// checkImported returns nil if the run has changed since its import, or if the rows to write are the imported
// rows. all has the rows to write. checkImported compares them with two digests that the import stored: a
// digest of the rows, and a digest of the rows without the root's path. If all matches neither digest, it
// returns errNotImported.
//
// An export to another folder writes other paths, which only the second digest accepts. If the import did not
// store the second digest, checkImported returns errNotImported for such rows.
func (x *runExport) checkImported(all stored.Rows) error {
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
