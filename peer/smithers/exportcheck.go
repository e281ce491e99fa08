package smithers

import (
	"errors"
	"maps"

	"github.com/git-smithers/git-smithers/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
)

// predictor is predict. Tests hand in others: what it predicts is part of the format, so a changed one restores wrong rows.
type predictor func(*tables.Facts, source.Table, []tables.OutputColumn) ([]source.Row, error)

// errNotImported means that prediction and difference do not make the rows that were imported.
var errNotImported = errors.New("its rows are not those that were imported")

// checkImported compares the rows of a run that is as it was imported with the digests that the import stored. An import of
// an older version stored only the digest of the rows with their paths: in another folder its rows cannot be checked, and
// are refused.
func (x *exporting) checkImported(all runRows) error {
	if !x.exact || all.has(x.peer.Pass.Rows) {
		return nil
	}
	marked := maps.Clone(all.rows)
	for _, table := range all.tables {
		if !dbrow.HasPaths(table) {
			continue
		}
		rows, err := x.rowsAt(table, dbrow.RootMark)
		if err != nil {
			return err
		}
		marked[table.Name] = rows
	}
	all.rows = marked
	if want := x.peer.Pass.Movable; want != "" && all.has(want) {
		return nil
	}
	return errNotImported
}

// has reports whether a digest is that of the rows. A run from a database without _smithers_frames is exported with rows of
// that table, which Smithers needs, and was digested without them.
func (all runRows) has(digest string) bool {
	if all.digest() == digest {
		return true
	}
	all.frames = nil
	return all.digest() == digest
}
