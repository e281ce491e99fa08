package export

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/stored"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
)

// errTaken means that the database already has another row with the same key, which may belong to another run.
var errTaken = errors.New("the database already has a row with this key")

// readTables parses the lines of x.Peer.Schema and sets x.schema to the parsed tables, by name. See [stored.SchemaLine]
// for these tables. If a line cannot be parsed, the error's code is export_refused.
func (x *exportedRun) readTables(ctx context.Context) error {
	x.schema = make(map[string]source.Table)
	for _, line := range x.Peer.Schema {
		table, err := source.ParseTable(ctx, line.Table, line.SQL)
		if err != nil {
			return refusedExport(x.Row.ID, fmt.Errorf("ext/%s/%s: %w", stored.Engine, stored.ExtSchema, err))
		}
		x.schema[line.Table] = *table
	}
	return nil
}

// ensureTables creates Smithers' own tables and the tables in the schemas of runs, if they are missing in the database.
// It adds missing columns to existing tables. It also adds the missing rows that describe the columns of output tables.
func ensureTables(tx *source.WriteTx, runs []*exportedRun) error {
	all := source.Schema()
	for _, run := range runs {
		for _, name := range slices.Sorted(maps.Keys(run.schema)) {
			all = append(all, run.schema[name])
		}
	}
	for _, table := range all {
		if err := tx.Ensure(table); err != nil {
			return fmt.Errorf("table %q: %w", table.Name, err)
		}
	}
	for _, run := range runs {
		for _, column := range run.Peer.Columns() {
			row := source.Row{
				"table_name": dbrow.Text(column.Table), "column_name": dbrow.Text(column.Column), "kind": dbrow.Text(column.Kind),
			}
			if _, err := tx.InsertIfNew(tables.Columns, row); err != nil {
				return err
			}
		}
	}
	return nil
}

// tables returns the tables that can have rows of the run, sorted by name, without the tables of snapshots. A table of
// x.schema replaces the table of x.own with the same name, so each table has the columns of the database from which the
// run came.
func (x *runExport) tables() []source.Table {
	named := make(map[string]source.Table)
	for _, table := range tables.OfRun(slices.Clone(x.own)) {
		named[table.Name] = table
	}
	for name, table := range x.schema {
		if !tables.IsOfSnapshots(name) {
			named[name] = table
		}
	}
	return slices.SortedFunc(maps.Values(named), func(a, b source.Table) int { return strings.Compare(a.Name, b.Name) })
}

// put adds row to table. If the table already has a row with the same key, the kind of key decides the result. A single
// INTEGER key only numbers the rows of all runs: put removes the number from row, and the database chooses a new
// number. For any other key, the error is errTaken.
func (x *runExport) put(table source.Table, row source.Row) error {
	isNew, err := x.tx.InsertIfNew(table.Name, row)
	if err != nil || isNew {
		return err
	}
	counter := slices.IndexFunc(table.Columns, func(c source.Column) bool {
		return c.Key > 0 && strings.EqualFold(c.Type, "INTEGER")
	})
	if keys, _ := dbrow.KeyColumns(table); counter < 0 || len(keys) != 1 {
		return fmt.Errorf("table %q: %w", table.Name, errTaken)
	}
	delete(row, table.Columns[counter].Name)
	return x.tx.Insert(table.Name, row)
}
