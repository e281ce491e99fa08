package dbrun

import (
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/stored"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
)

// Schema returns one stored.SchemaLine for each table of the database for which wanted returns true, sorted by name.
// The line of an output table has the kinds of the table's columns. Schema leaves out tables that Smithers 0.32.0
// creates with the same columns.
func (p *Run) Schema(wanted func(source.Table) bool) []stored.SchemaLine {
	var lines []stored.SchemaLine
	for _, t := range p.Tx.Tables() {
		if same, ok := p.Own[t.Name]; !wanted(t) || ok && same.Same(&t) {
			continue
		}
		line := stored.SchemaLine{Table: t.Name, SQL: t.SQL}
		for _, c := range p.columns {
			if c.Table == t.Name {
				line.Columns = append(line.Columns, [2]string{c.Column, c.Kind})
			}
		}
		lines = append(lines, line)
	}
	slices.SortFunc(lines, func(a, b stored.SchemaLine) int { return strings.Compare(a.Table, b.Table) })
	return lines
}

// uses reports whether table has rows of the run, or rows in p.Left.
func (p *Run) uses(table source.Table) bool {
	name := table.Name
	switch {
	case len(p.Rows[name]) > 0, name == tables.Snapshots && len(p.Heads) > 0:
		return true
	}
	return slices.ContainsFunc(p.Left, func(u UnownedTable) bool { return u.Table.Name == name })
}

// Knows reports whether table has rows of the run or rows in p.Left, or is an output table with known columns. The
// run may still write outputs to an output table without rows.
func (p *Run) Knows(table source.Table) bool {
	return p.uses(table) || tables.IsOutputs(table) && slices.ContainsFunc(p.columns, func(c tables.OutputColumn) bool { return c.Table == table.Name })
}

// UnownedTable is a table whose rows belong to no single run. Every imported run gets a copy of these rows.
type UnownedTable struct {
	Table source.Table
	Rows  []source.Row
}
