package sqliteindex

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/smithersdb"
)

// schema is what a database has in it. Its header says whose it is, and of which
// version. A database with other numbers is made anew, so a changed schema needs a new
// version and no migration; and so do rows that the same history is given otherwise.
type schema struct {
	applicationID int64
	version       int64
	tables        []string
}

// baseSchema is that of the index which every list opens: the fewer tables it has, the
// sooner it is open.
func baseSchema() schema {
	return schema{applicationID: smithersdb.IndexID, version: 6, tables: []string{baseTables, linesTable}}
}

// detailSchema is that of the index with details, which holds the base tables, too, so
// that one query can ask for both.
func detailSchema() schema {
	return schema{applicationID: smithersdb.DetailIndexID, version: 6, tables: []string{baseTables, detailTables}}
}

// create fills an empty database.
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

// check returns an error that wraps errDamaged where the database is not one of this
// schema.
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

// queryInt returns the single integer that a query answers with, 0 where it has no row.
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
