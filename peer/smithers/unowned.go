package smithers

import (
	"github.com/git-smithers/git-smithers/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/peer/smithers/dbrun"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
)

// needUnowned reads the rows that belong to no single run into im.left, unless the pass has read these rows.
func (im *importJob) needUnowned(tx *source.Tx) error {
	if im.leftRead {
		return nil
	}
	_, err := im.readUnowned(tx, nil)
	return err
}

// readUnowned sets im.left to the rows of unknown tables without a run column, and sets im.leftRead. For each other
// table, it returns the number of rows that belong to no run, if not 0. It leaves out tables of frames,
// tables.Migrated and tables.Columns. In a watch, which does not report these rows, readUnowned returns nil. runs has
// the database's rows of _smithers_runs.
func (im *importJob) readUnowned(tx *source.Tx, runs []source.Row) ([]LeftTable, error) {
	im.left = nil
	var left []LeftTable
	for _, table := range tx.Tables() {
		var rows int64
		var err error
		switch {
		case tables.IsOfFrames(table.Name) || table.Name == tables.Migrated || table.Name == tables.Columns:
		case im.memory != nil && (tables.HasRun(table) || im.isOwn(table.Name)): // a watch does not report these tables
		case tables.HasRun(table):
			rows, err = ownerless(tx, table, runs)
		case im.isOwn(table.Name):
			rows, err = tx.Count(table.Name, "")
		default:
			err = im.keepUnowned(tx, table)
		}
		if err != nil {
			return nil, err
		}
		if rows > 0 {
			left = append(left, LeftTable{table.Name, rows})
		}
	}
	im.leftRead = true
	return left, nil
}

// ownerless returns the number of rows in table that belong to no run of runs.
func ownerless(tx *source.Tx, table source.Table, runs []source.Row) (int64, error) {
	rows, err := tx.Count(table.Name, "")
	for _, run := range runs {
		if rows == 0 || err != nil {
			break
		}
		var own int64
		own, err = tx.Count(table.Name, dbrow.TextOf(run, "run_id"))
		rows -= own
	}
	return rows, err
}

// keepUnowned adds table with all its rows to im.left, unless the table is empty.
func (im *importJob) keepUnowned(tx *source.Tx, table source.Table) error {
	one := dbrun.Unowned{Table: table}
	for row, err := range tx.Rows(table.Name, "") {
		if err != nil {
			return err
		}
		one.Rows = append(one.Rows, row)
	}
	if len(one.Rows) > 0 {
		im.left = append(im.left, one)
	}
	return nil
}

// isOwn reports whether Smithers 0.32.0 has a table with the given name.
func (im *importJob) isOwn(name string) bool {
	_, own := im.own[name]
	return own
}
