package source

import (
	"context"
	"fmt"
)

// ParseTable is the table of a name that a statement makes, which may be somebody else's. A statement
// that does anything else is ErrDamaged.
func ParseTable(ctx context.Context, name, statement string) (_ *Table, err error) {
	if !isTable(statement, name) {
		return nil, damaged("the statement that makes the table %q is none", name)
	}
	c := new(connection)
	defer func() {
		if closed := c.Close(); err == nil {
			err = closed
		}
	}()
	if err := c.open(ctx, ":memory:", largestValue); err != nil {
		return nil, err
	}
	if _, err := c.ExecContext(ctx, statement); err != nil {
		return nil, fmt.Errorf("making the table %q: %w", name, explain(err))
	}
	tables, err := readTables(ctx, c.Conn)
	if err != nil {
		return nil, err
	}
	if table := findTable(tables, name); table != nil {
		return table, nil
	}
	return nil, damaged("the statement that makes the table %q makes another", name)
}
