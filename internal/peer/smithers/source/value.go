package source

// Kind is the storage class of a value in SQLite.
type Kind uint8

// The storage classes of SQLite.
const (
	Null Kind = iota
	Int
	Real
	Text
	Blob
)

// Value is one value of a row, exactly as it is stored. The zero Value is NULL.
type Value struct {
	Kind  Kind
	Int   int64
	Real  float64
	Bytes string // the content of a Text or a Blob; a Text need not be UTF-8
}

// Row has the values of one row by column name. A column that the table lacks is absent, which differs from NULL.
type Row map[string]Value

// Column is one column of a table.
type Column struct {
	Name string
	Type string // as declared
	Key  int    // the column's position in the primary key, from 1; 0 if the column is not part of the key
}

// Table is one table of a database.
type Table struct {
	Name    string
	SQL     string // the statement that creates the table
	Columns []Column
}
