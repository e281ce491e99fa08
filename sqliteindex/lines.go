package sqliteindex

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/git-smithers/git-smithers/objstore"
)

// linesTable is the schema of a cache: how many lines were added and removed between two trees. Trees never
// change, so a row never becomes invalid.
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

// TreePair names the trees before and after a change.
type TreePair struct{ From, To objstore.ID }

// key returns the text that the column trees of _index_lines has for p.
func (p TreePair) key() string { return p.From.String() + ".." + p.To.String() }

// Lines is the number of lines by which two trees differ.
type Lines struct{ Added, Removed int64 }

// Lines returns the cached numbers of lines for the given pairs of trees. The result lacks the pairs that are
// not cached.
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
	rows, err := list[linesRow](ctx, x, sqlLines, string(asked))
	if err != nil {
		return nil, err
	}
	known := make(map[TreePair]Lines, len(rows))
	for _, r := range rows {
		known[byKey[r.Key]] = r.Lines
	}
	return known, nil
}

// RememberLines caches the numbers of lines in counted. A pair that is already cached keeps its numbers. If the
// index cannot be written, RememberLines returns an error.
func (x *Index) RememberLines(ctx context.Context, counted map[TreePair]Lines) error {
	return x.conn.write(ctx, func(tx *sql.Tx) error {
		for pair, lines := range counted {
			if _, err := tx.ExecContext(ctx, sqlRememberLines, pair.key(), lines.Added, lines.Removed); err != nil {
				return err
			}
		}
		return nil
	})
}

// linesRow is a row of sqlLines.
type linesRow struct {
	Key string
	Lines
}
