package source

import (
	_ "embed"
	"slices"
	"strings"
)

// schema has one statement a paragraph. A column of a table has a line of its own.
//
//go:embed schema.sql
var schema string

// Schema are the tables, indexes and triggers of Smithers 0.32.0 without any output table, as
// its migrations leave them; Statements are in the order in which they run. Those that are no tables
// have no columns.
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

// columnsOf reads the columns off a statement of the schema.
func columnsOf(statement string) []Column {
	var columns []Column
	for line := range strings.Lines(statement) {
		words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" ,()\n", r) })
		switch {
		case !strings.HasPrefix(line, "  "), words[0] == "FOREIGN", words[0] == "UNIQUE":
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

// Same reports whether two tables have the same name and columns, whatever the statements
// say besides.
func (t *Table) Same(other *Table) bool {
	return t.Name == other.Name && slices.Equal(t.Columns, other.Columns)
}
