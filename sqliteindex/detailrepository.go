package sqliteindex

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// RepositoryTable is a table of the index whose rows belong to no run: those of a tree of the repository.
type RepositoryTable struct {
	Name    string
	Columns []string // those that the rows set, in their order
}

const (
	sqlRepositoryCommit    = `SELECT git_commit FROM _index_repository WHERE table_name = ?`
	sqlSetRepositoryCommit = `INSERT OR REPLACE INTO _index_repository (table_name, git_commit) VALUES (?, ?)`
)

// SetRepositoryRows replaces the rows of a table, unless the table already has the rows of commit, the newest commit of its tree. It calls rows
// only to replace them. commit is "" for a repository without the tree.
func (x *Index) SetRepositoryRows(ctx context.Context, table RepositoryTable, commit string, rows func() ([][]any, error)) error {
	d, err := x.openDetails(ctx)
	if err != nil {
		return err
	}
	had, _, err := first(list[string](ctx, d, sqlRepositoryCommit, table.Name))
	if err != nil || had == commit {
		return err
	}
	list, err := rows()
	if err != nil {
		return err
	}
	return d.conn.write(ctx, func(tx *sql.Tx) error { return table.replace(ctx, tx, commit, list) })
}

// replace replaces the rows of the table.
func (t RepositoryTable) replace(ctx context.Context, tx *sql.Tx, commit string, list [][]any) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM `+t.Name); err != nil {
		return err
	}
	insert := fmt.Sprintf(`INSERT OR REPLACE INTO %s (%s) VALUES (?%s)`, t.Name, strings.Join(t.Columns, ", "), strings.Repeat(", ?", len(t.Columns)-1)) //nolint:gosec // the names are our own
	for _, row := range list {
		if _, err := tx.ExecContext(ctx, insert, row...); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, sqlSetRepositoryCommit, t.Name, commit)
	return err
}
