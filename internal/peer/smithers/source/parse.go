package source

import (
	"context"
	"fmt"
)

// ParseTable returns the table that statement creates. statement may come from another user, so ParseTable runs
// it only in a temporary database. If statement does anything but create a table with the given name, the error
// wraps ErrDamaged.
func ParseTable(ctx context.Context, name, statement string) (_ *Table, err error) {
	if !isTable(statement, name) {
		return nil, damaged("the statement for table %q does not create that table", name)
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
		return nil, fmt.Errorf("create table %q: %w", name, explain(err))
	}
	tables, err := readTables(ctx, c.Conn)
	if err != nil {
		return nil, err
	}
	if table := findTable(tables, name); table != nil {
		return table, nil
	}
	return nil, damaged("the statement for table %q creates another table", name)
}
