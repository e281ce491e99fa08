// Package sourcetest reads and changes databases with plain SQL, for tests of states that Smithers leaves only
// rarely or never.
package sourcetest

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"os"

	_ "modernc.org/sqlite" // the driver
)

// Exec runs SQL statements on the database at path, which it creates if necessary. No other connection may have
// the database open.
func Exec(ctx context.Context, path, statements string) error {
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}).String())
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, statements)
	return errors.Join(err, db.Close())
}

// Interrupted leaves the database at path as if an engine had been killed during a transaction with the given
// statements. From then on the database has a rollback journal in place of a write-ahead log.
func Interrupted(ctx context.Context, path, statements string) (err error) {
	db, err := sql.Open("sqlite", address(path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, "PRAGMA journal_mode = DELETE; PRAGMA cache_size = 1; BEGIN;"+statements); err != nil {
		return err
	}
	var left [2][]byte
	for i, suffix := range []string{"", "-journal"} {
		if left[i], err = os.ReadFile(path + suffix); err != nil {
			return err
		}
	}
	if _, err := db.ExecContext(ctx, "ROLLBACK"); err != nil {
		return err
	}
	return errors.Join(os.WriteFile(path, left[0], 0o600), os.WriteFile(path+"-journal", left[1], 0o600))
}

// Locked calls use while the database at path is locked exclusively, so other connections cannot read it. An
// engine without a write-ahead log holds this lock while it commits.
func Locked(ctx context.Context, path string, use func() error) (err error) {
	db, err := sql.Open("sqlite", address(path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, "BEGIN EXCLUSIVE"); err != nil {
		return err
	}
	err = use()
	_, rollback := db.ExecContext(ctx, "ROLLBACK")
	return errors.Join(err, rollback)
}
