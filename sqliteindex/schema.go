package sqliteindex

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/smithersnames"
)

// schema is the set of tables of a database, and how they are filled. The database's header has the schema's id and
// version. A database with another id or version is rebuilt, so a changed schema needs a new version and no migration. A
// changed derivation of rows from the history also needs a new version.
type schema struct {
	applicationID int64        // SQLite's application_id
	version       int64        // SQLite's user_version
	tables        []string     // scripts that create the tables, in order
	collections   []collection // the collections of an entry with tables of their own
	tips          string       // the query for the indexed tips
	detailed      bool         // the schema has the details
}

// baseSchema returns the schema of the base database, which every command that lists runs opens. It has few tables,
// because a database with fewer tables opens faster.
func baseSchema() schema {
	return schema{
		applicationID: smithersnames.IndexID, version: 13, tables: []string{baseTables, frameIDsTable, linesTable, droppedIndex},
		collections: baseCollections(), tips: sqlTips,
	}
}

// detailSchema returns the schema of the database with details. It includes the base tables, so that one
// query can use both.
func detailSchema() schema {
	return schema{
		applicationID: smithersnames.DetailIndexID, version: 18, tables: []string{baseTables, frameIDsTable, detailTables},
		collections: detailCollections(), tips: sqlDetailTips, detailed: true,
	}
}

// columns returns the columns that a row of a table sets, in their order, and those of the primary key. It reads them
// from the statement that creates the table, which has one column a line.
func (s schema) columns(table string) (set, key []string) {
	_, rest, _ := strings.Cut(strings.Join(s.tables, ""), "CREATE TABLE "+table+" (\n")
	text, _, _ := strings.Cut(rest, "\n)")
	for line := range strings.Lines(text) {
		name, declaration, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case name == "PRIMARY": // PRIMARY KEY (run_id, …)
			key = strings.Split(strings.Trim(strings.TrimPrefix(declaration, "KEY "), "()"), ", ")
		case strings.Contains(declaration, " AS ("): // a generated column
		default:
			set = append(set, name)
			if strings.Contains(declaration, "PRIMARY KEY") {
				key = []string{name}
			}
		}
	}
	return set, key
}

// runTables returns the names of the tables whose rows belong to runs, except tables of outputs: the primary key has the
// run's id.
func (s schema) runTables() (names []string) {
	for part := range strings.SplitSeq(strings.Join(s.tables, ""), "CREATE TABLE ") {
		table, _, _ := strings.Cut(part, " (")
		if _, key := s.columns(table); slices.Contains(key, "run_id") && table != "_index_outputs" {
			names = append(names, table)
		}
	}
	return names
}

// create creates the tables of s in an empty database, and sets the id and version in the database's header.
func (s schema) create(ctx context.Context, conn driver.Conn) error {
	exec, ok := conn.(driver.ExecerContext)
	if !ok {
		return errors.ErrUnsupported
	}
	script := "BEGIN;" + strings.Join(s.tables, "") +
		"PRAGMA application_id = " + strconv.FormatInt(s.applicationID, 10) + ";" +
		"PRAGMA user_version = " + strconv.FormatInt(s.version, 10) + ";" +
		"COMMIT;"
	_, err := exec.ExecContext(ctx, script, nil)
	return err
}

// check reads the database's header. The error wraps errDamaged if the header does not have the id and
// version of s.
func (s schema) check(ctx context.Context, conn driver.Conn) error {
	for _, want := range []struct {
		pragma string
		value  int64
	}{{"PRAGMA application_id", s.applicationID}, {"PRAGMA user_version", s.version}} {
		got, err := queryInt(ctx, conn, want.pragma)
		if err != nil {
			return err
		}
		if got != want.value {
			return damaged(want.pragma + " is " + strconv.FormatInt(got, 10))
		}
	}
	return nil
}

// queryInt returns the integer in the first row of a query's result, or 0 if the result has no row. If the
// value is not an integer, the error wraps errDamaged.
func queryInt(ctx context.Context, conn driver.Conn, query string) (value int64, err error) {
	queryer, ok := conn.(driver.QueryerContext)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	rows, err := queryer.QueryContext(ctx, query, nil)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	dest := make([]driver.Value, len(rows.Columns()))
	if err := rows.Next(dest); err != nil {
		if errors.Is(err, io.EOF) {
			return 0, nil
		}
		return 0, err
	}
	value, ok = dest[0].(int64)
	if !ok {
		return 0, damaged(query)
	}
	return value, nil
}
