package source

// Kind is the storage class of a value.
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
	Bytes string // of Text and Blob; Text need not be UTF-8
}

// Row is one row: its values by column name. A column that the table does not have is absent, which differs from
// NULL.
type Row map[string]Value

// Column is one column of a table.
type Column struct {
	Name string
	Type string // as declared
	Key  int    // its position in the primary key, from 1; 0 if it is not part of the key
}

// Table is one table of a database.
type Table struct {
	Name    string
	SQL     string // the statement that creates it
	Columns []Column
}
