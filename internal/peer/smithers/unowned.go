package smithers

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrun"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
)

// readUnowned handles the rows that belong to no single run. runs has the database's rows of _smithers_runs. Each
// table is one of five kinds:
//   - A table of frames, tables.Migrated or tables.Columns is left out.
//   - In a table with a run column, readUnowned counts the rows that belong to none of runs.
//   - The rows of repositoryTables go to the repository; those that cannot are counted.
//   - In a table of Smithers without a run column, it counts all rows.
//   - The rows of any other table become part of im.left.
//
// The result has the counts that are not 0. In a watch, which does not report counts, the result is nil.
func (im *importJob) readUnowned(ctx context.Context, tx *source.Tx, runs []source.Row) ([]LeftTable, error) {
	im.left = nil
	var left []LeftTable
	for _, table := range tx.Tables() {
		var rows int64
		var err error
		switch {
		case tables.IsOfSnapshots(table.Name) || table.Name == tables.Frames || table.Name == tables.Migrated || table.Name == tables.Columns:
		case im.memory != nil && (tables.HasRun(table) || im.isOwn(table.Name)): // a watch does not report these tables
		case tables.HasRun(table):
			rows, err = ownerless(tx, table, runs)
		case repositoryTables[table.Name].keep != nil:
			rows, err = im.keepRepositoryRows(ctx, tx, table.Name)
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
	return left, nil
}

// ownerless returns the number of rows in table that belong to none of runs. table must have a run column.
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

// keepUnowned appends table, with all its rows, to im.left. It skips an empty table.
func (im *importJob) keepUnowned(tx *source.Tx, table source.Table) error {
	one := dbrun.UnownedTable{Table: table}
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
