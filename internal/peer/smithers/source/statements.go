package source

import (
	"context"
	"database/sql"
	"errors"
)

// statements caches the prepared statements of one transaction, because some statements run once per frame.
type statements struct {
	ctx    context.Context //nolint:containedctx // the context of the transaction, which lives as long as the cache
	conn   *sql.Conn
	byText map[string]*sql.Stmt
}

// newStatements returns an empty cache for the transaction on conn.
func newStatements(ctx context.Context, conn *sql.Conn) *statements {
	return &statements{ctx, conn, make(map[string]*sql.Stmt)}
}

// close closes all cached statements.
func (s *statements) close() error {
	var errs []error
	for _, stmt := range s.byText {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(errs...)
}

// query runs the SQL statement text with the parameters args and returns the rows. explain converts errors of
// the driver. The caller must close the rows.
func (s *statements) query(text string, args ...any) (*sql.Rows, error) {
	stmt, err := s.prepare(text) //nolint:sqlclosecheck // the method close closes the statement
	if err != nil {
		return nil, err
	}
	rows, err := stmt.QueryContext(s.ctx, args...)
	return rows, explain(err)
}

// exec runs the SQL statement text with the parameters args and returns the result. explain converts errors of
// the driver.
func (s *statements) exec(text string, args ...any) (sql.Result, error) {
	stmt, err := s.prepare(text) //nolint:sqlclosecheck // the method close closes the statement
	if err != nil {
		return nil, err
	}
	result, err := stmt.ExecContext(s.ctx, args...)
	return result, explain(err)
}

// prepare returns the prepared form of the SQL statement text. Only the first call for a text prepares the
// statement.
func (s *statements) prepare(text string) (*sql.Stmt, error) {
	if stmt := s.byText[text]; stmt != nil {
		return stmt, nil
	}
	stmt, err := s.conn.PrepareContext(s.ctx, text)
	if err != nil {
		return nil, explain(err)
	}
	s.byText[text] = stmt
	return stmt, nil
}
