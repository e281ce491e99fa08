package source

import (
	_ "embed"
	"slices"
	"strings"
)

// schema is the text of schema.sql. Each paragraph is one statement, and each column of a table has its own line.
//
//go:embed schema.sql
var schema string

// Schema returns the tables, indexes and triggers that the migrations of Smithers 0.32.0 create, without output
// tables. They are in the order in which their statements must run. Indexes and triggers have no columns.
func Schema() []Table {
	var all []Table
	for statement := range strings.SplitSeq(strings.TrimSuffix(schema, "\n"), "\n\n") {
		kind, name := created(statement)
		t := Table{Name: name, SQL: statement}
		if kind == "TABLE" {
			t.Columns = columnsOf(statement)
		}
		all = append(all, t)
	}
	return all
}

// columnsOf returns the columns in statement, a CREATE TABLE statement of schema. Such a statement has each column
// and each constraint in one line, with two spaces before it.
func columnsOf(statement string) []Column {
	var columns []Column
	for line := range strings.Lines(statement) {
		words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" ,()\n", r) })
		switch {
		// The first and the last line, and these constraints, have no column.
		case !strings.HasPrefix(line, "  "), words[0] == "FOREIGN", words[0] == "UNIQUE":
		// The words after PRIMARY KEY are the columns of the key. Any other column gets the position 0.
		case words[0] == "PRIMARY":
			for i := range columns {
				columns[i].Key = slices.Index(words[2:], columns[i].Name) + 1
			}
		default:
			column := Column{Name: words[0], Type: words[1]}
			if strings.Contains(line, " PRIMARY KEY") {
				column.Key = 1
			}
			columns = append(columns, column)
		}
	}
	return columns
}

// Same reports whether two tables have the same name and columns. The rest of their statements may differ.
func (t *Table) Same(other *Table) bool {
	return t.Name == other.Name && slices.Equal(t.Columns, other.Columns)
}
