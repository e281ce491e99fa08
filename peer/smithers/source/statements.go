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

// query runs the statement text with the parameters args and returns its rows. explain maps the error.
func (s *statements) query(text string, args ...any) (*sql.Rows, error) {
	stmt, err := s.prepare(text) //nolint:sqlclosecheck // the method close closes the statement
	if err != nil {
		return nil, err
	}
	rows, err := stmt.QueryContext(s.ctx, args...)
	return rows, explain(err)
}

// exec runs the statement text with the parameters args and returns its result. explain maps the error.
func (s *statements) exec(text string, args ...any) (sql.Result, error) {
	stmt, err := s.prepare(text) //nolint:sqlclosecheck // the method close closes the statement
	if err != nil {
		return nil, err
	}
	result, err := stmt.ExecContext(s.ctx, args...)
	return result, explain(err)
}

// prepare returns the cached statement text. It prepares the statement at the first call.
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
