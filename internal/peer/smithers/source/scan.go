package source

import (
	"database/sql"
	"fmt"
	"strings"
)

// selectFrom returns a statement that selects all columns of table. Each column is an expression without a
// declared type, because the driver would otherwise convert values to the declared type.
func selectFrom(table *Table) string {
	list := make([]string, len(table.Columns))
	for i, column := range table.Columns {
		list[i] = "+" + quote(column.Name)
	}
	return "SELECT " + strings.Join(list, ", ") + " FROM " + quote(table.Name)
}

// scanner decodes the rows of a statement by selectFrom.
type scanner struct {
	columns []Column
	values  []any // of the present row
	places  []any // pointers to values, for Scan
}

// newScanner returns a scanner for the columns of table.
func newScanner(table *Table) *scanner {
	n := len(table.Columns)
	s := &scanner{columns: table.Columns, values: make([]any, n), places: make([]any, n)}
	for i := range s.values {
		s.places[i] = &s.values[i]
	}
	return s
}

// row returns the current row of rows. The caller must have called rows.Next, and may keep the result.
func (s *scanner) row(rows *sql.Rows) (Row, error) {
	if err := rows.Scan(s.places...); err != nil {
		return nil, explain(err)
	}
	row := make(Row, len(s.columns))
	for i, column := range s.columns {
		value, err := valueOf(s.values[i])
		if err != nil {
			return nil, damaged("column %q: %w", column.Name, err)
		}
		row[column.Name] = value
		s.values[i] = nil // the scanner must not keep a large value longer than its row
	}
	return row, nil
}

// valueOf converts value, which comes from the driver, to a Value. It returns an error for a type that SQLite
// does not have.
func valueOf(value any) (Value, error) {
	switch v := value.(type) {
	case nil:
		return Value{}, nil
	case int64:
		return Value{Kind: Int, Int: v}, nil
	case float64:
		return Value{Kind: Real, Real: v}, nil
	case string:
		return Value{Kind: Text, Bytes: v}, nil
	case []byte:
		return Value{Kind: Blob, Bytes: string(v)}, nil
	}
	return Value{}, fmt.Errorf("a value of type %T", value)
}
