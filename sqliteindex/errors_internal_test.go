package sqliteindex

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	sqlite3 "modernc.org/sqlite/lib"
)

// sqliteError is an error as SQLite's driver returns it.
type sqliteError int

func (e sqliteError) Error() string { return fmt.Sprintf("sqlite says %d", int(e)) }
func (e sqliteError) Code() int     { return int(e) }

func TestTransientErrors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		err  error
		want bool
	}{
		{"busy", sqliteError(sqlite3.SQLITE_BUSY), true},
		{"locked", sqliteError(sqlite3.SQLITE_LOCKED), true},
		{"an I/O error, with an extended code", sqliteError(sqlite3.SQLITE_IOERR | 3<<8), true},
		{"a wrapped error", fmt.Errorf("commit: %w", sqliteError(sqlite3.SQLITE_BUSY)), true},
		{"a full disk is not waited for", sqliteError(sqlite3.SQLITE_FULL), false},
		{"an error that is not SQLite's", errors.New("no"), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tc.want, isTransient(tc.err))
		})
	}
}

func TestRemedies(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		err  error
		want remedy
	}{
		{"a file that is no database is made anew", &databaseError{sqliteError(sqlite3.SQLITE_NOTADB)}, makeAnew},
		{"a malformed page too", &databaseError{sqliteError(sqlite3.SQLITE_CORRUPT | 1<<8)}, makeAnew},
		{"another version too", &databaseError{damaged("version")}, makeAnew},
		{"somebody else's file too", &databaseError{sqliteError(sqlite3.SQLITE_READONLY)}, makeAnew},
		{"a full disk is no reason to drop the file", &databaseError{sqliteError(sqlite3.SQLITE_FULL)}, useMemory},
		{"nor is a failing one", &databaseError{sqliteError(sqlite3.SQLITE_IOERR)}, useMemory},
		{"a busy database is left alone", &databaseError{sqliteError(sqlite3.SQLITE_BUSY)}, noRemedy},
		{"a cancelled query says nothing", &databaseError{context.Canceled}, noRemedy},
		{"an error of the refs or objects says nothing", sqliteError(sqlite3.SQLITE_CORRUPT), noRemedy},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tc.want, remedyFor(tc.err))
		})
	}
}
