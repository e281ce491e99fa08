package sqliteindex

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/git-smithers/git-smithers/objstore"
)

// linesTable remembers by how many lines trees of files differ. Trees never change, so a row is
// true whatever becomes of the runs.
const linesTable = `
CREATE TABLE _index_lines (
	trees   TEXT NOT NULL PRIMARY KEY,
	added   INTEGER NOT NULL,
	removed INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`

const (
	sqlLines = `SELECT l.trees, l.added, l.removed FROM json_each(?) AS asked
		JOIN _index_lines AS l ON l.trees = asked.value`
	sqlRememberLines = `INSERT OR IGNORE INTO _index_lines (trees, added, removed) VALUES (?, ?, ?)`
)

// TreePair is two trees of files: the one before and the one after a change.
type TreePair struct{ From, To objstore.ID }

func (p TreePair) key() string { return p.From.String() + ".." + p.To.String() }

// Lines counts the lines by which two trees differ.
type Lines struct{ Added, Removed int64 }

// Lines returns what is remembered of pairs of trees.
func (x *Index) Lines(ctx context.Context, pairs []TreePair) (map[TreePair]Lines, error) {
	byKey := make(map[string]TreePair, len(pairs))
	keys := make([]string, len(pairs))
	for i, p := range pairs {
		keys[i] = p.key()
		byKey[keys[i]] = p
	}
	asked, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	rows, err := list(ctx, x, scanLines, sqlLines, string(asked))
	if err != nil {
		return nil, err
	}
	known := make(map[TreePair]Lines, len(rows))
	for _, r := range rows {
		known[byKey[r.key]] = r.Lines
	}
	return known, nil
}

// RememberLines keeps counted lines for the next time. An index that cannot be written keeps
// nothing, and the error says so.
func (x *Index) RememberLines(ctx context.Context, counted map[TreePair]Lines) error {
	return x.use(ctx, func(db *database) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		for pair, lines := range counted {
			if _, err := tx.ExecContext(ctx, sqlRememberLines, pair.key(), lines.Added, lines.Removed); err != nil {
				_ = tx.Rollback() // err says why already
				return err
			}
		}
		return tx.Commit()
	})
}

// linesRow is a row of sqlLines.
type linesRow struct {
	key string
	Lines
}

func scanLines(rows *sql.Rows) (r linesRow, err error) {
	err = rows.Scan(&r.key, &r.Added, &r.Removed)
	return r, err
}
