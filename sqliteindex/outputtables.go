package sqliteindex

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/sqliteindex/columns"
)

// maxColumns is the maximum number of columns for properties in one output table. SQLite allows 2,000
// columns.
const maxColumns = 1900

// wholeColumn is the name of the column for a whole output, if the output's schema declares no properties.
const wholeColumn = "payload"

// textColumn is the name of the column, in every output table, with the whole output as JSON. No property's
// column has this name.
const textColumn = "_json"

// outputTable is a table with the outputs of one schema key: of all workflows, or of one workflow.
type outputTable struct {
	name     string
	key      string        // the schema key
	shared   bool          // the table has the outputs of all workflows
	workflow string        // the name of the only workflow; "" if shared
	columns  []tableColumn // sorted by name
	view     string        // the view with the name of the key; "" if the table has no such view
	insert   string        // the statement that inserts a row
}

// tableColumn is a column of an output table with its name.
type tableColumn struct {
	columns.Column

	name string
}

// declarationOf returns the SQL type of a column of the given type. The first word is the kind of the column; the second word
// selects the affinity that stores values unchanged.
func declarationOf(t columns.Type) string {
	switch t {
	case columns.String:
		return "STRING TEXT"
	case columns.Number, columns.Integer:
		return "NUMBER BLOB"
	case columns.Boolean:
		return "BOOLEAN BLOB"
	case columns.Mixed:
		return "JSON BLOB"
	case columns.JSON:
	}
	return "JSON TEXT"
}

// typeDeclared returns the type of a column whose declared SQL type is declaration, with Number for Integer. It returns
// "" if no column of an output table has this type.
func typeDeclared(declaration string) columns.Type {
	for _, t := range []columns.Type{columns.String, columns.Number, columns.Boolean, columns.JSON, columns.Mixed} {
		if declarationOf(t) == declaration {
			return t
		}
	}
	return ""
}

// catalog is a list of output tables.
type catalog []outputTable

// find returns the table for a schema key and a workflow, or nil if the catalog has no such table. The result points
// into c.
func (c catalog) find(key, workflow string) *outputTable {
	for i := range c {
		if t := &c[i]; t.key == key && (t.shared || t.workflow == workflow) {
			return t
		}
	}
	return nil
}

// named returns the table with the given name, or nil if the catalog has no such table. The result points into c.
func (c catalog) named(name string) *outputTable {
	for i := range c {
		if c[i].name == name {
			return &c[i]
		}
	}
	return nil
}

// same reports whether two tables have the same name, outputs and columns.
func (t *outputTable) same(other *outputTable) bool {
	return t.sameOutputs(other) && slices.Equal(t.columns, other.columns)
}

// sameOutputs reports whether two tables have the same name and hold the outputs of the same schema key and
// workflow.
func (t *outputTable) sameOutputs(other *outputTable) bool {
	return t.name == other.name && t.key == other.key && t.shared == other.shared && t.workflow == other.workflow
}

const sqlCatalog = `SELECT table_name, output_key, workflow_name, column_name, property, json_type
	FROM _smithers_output_schema_columns ORDER BY table_name, column_name`

// catalogRow is a row of sqlCatalog.
type catalogRow struct {
	Table, Key string
	Workflow   *string
	Column     string
	Property   *string
	Type       columns.Type
}

// readCatalog returns the existing output tables, sorted by name. The field view of the tables is not set, because the
// database does not store the names of views.
func readCatalog(ctx context.Context, q queryer) (tables catalog, err error) {
	rows, err := collect[catalogRow](ctx, q, sqlCatalog)
	for _, r := range rows {
		if n := len(tables); n == 0 || tables[n-1].name != r.Table {
			tables = append(tables, outputTable{name: r.Table, key: r.Key, shared: r.Workflow == nil, workflow: textOf(r.Workflow)})
		}
		t := &tables[len(tables)-1]
		t.columns = append(t.columns, tableColumn{columns.Column{Whole: r.Property == nil, Property: textOf(r.Property), Type: r.Type}, r.Column})
	}
	for i := range tables {
		tables[i].insert = insertStatement(&tables[i])
	}
	return tables, err
}

// insertStatement returns the statement that inserts a row into t or replaces the row with the same key. Its
// parameters are the run id, the node id, the iteration, the output as JSON, and then the columns in order.
func insertStatement(t *outputTable) string {
	var b strings.Builder
	b.WriteString("INSERT OR REPLACE INTO " + quoted(t.name) + " (run_id, node_id, iteration, " + textColumn)
	for _, c := range t.columns {
		b.WriteString(", " + quoted(c.name))
	}
	b.WriteString(") VALUES (?, ?, ?, ?" + strings.Repeat(", ?", len(t.columns)) + ")")
	return b.String()
}

// declaredOutputs holds the columns of outputs, by schema key and then by workflow.
type declaredOutputs map[string]map[string]columns.List

const sqlDeclared = `SELECT DISTINCT output_key, workflow_name, columns FROM _index_outputs`

// wantedCatalog returns the tables that the schemas of all indexed runs need.
func wantedCatalog(ctx context.Context, q queryer) (catalog, error) {
	declared := make(declaredOutputs)
	rows, err := collect[declaration](ctx, q, sqlDeclared)
	for _, d := range rows {
		list, parseErr := columns.Parse(d.Columns)
		if parseErr != nil {
			return nil, scanError(parseErr)
		}
		if declared[d.Key] == nil {
			declared[d.Key] = make(map[string]columns.List)
		}
		declared[d.Key][d.Workflow] = declared[d.Key][d.Workflow].Union(list)
	}
	return declared.catalog(), err
}

// catalog returns the tables that the declarations need, sorted by name. If the workflows that declare a schema key
// agree on its columns (see agree), they share one table. Otherwise, each of them has its own table. A shared table
// also gets a view with the name of the schema key, if the key is a valid name and still free. The tables depend only
// on the set of declarations, not on its order.
func (d declaredOutputs) catalog() catalog {
	tables := columns.SnakeNames(slices.Collect(maps.Keys(d)), columns.NewNameSet(), columns.FitTable)
	var shared, split catalog
	for _, key := range slices.Sorted(maps.Keys(d)) {
		if all, agreed := agree(d[key]); agreed {
			shared = append(shared, outputTable{name: tables[key], key: key, shared: true, columns: nameColumns(all)})
			continue
		}
		for _, workflow := range slices.Sorted(maps.Keys(d[key])) {
			split = append(split, outputTable{
				name: columns.FitTable(columns.FitWorkflow(workflow) + "_" + tables[key]),
				key:  key, workflow: workflow, columns: nameColumns(d[key][workflow]),
			})
		}
	}
	given := columns.NewNameSet()
	// No table or view gets the name of a key with several tables. A query with that name then fails, and
	// explain lists the tables.
	for _, t := range split {
		given.Take(tables[t.key])
	}
	out := append(shared, split...)
	for i := range out {
		out[i].name = given.Give(out[i].name)
	}
	for i := range out {
		if t := &out[i]; t.shared && columns.IsViewName(t.key) && columns.FoldCase(t.key) != columns.FoldCase(t.name) && given.Take(t.key) {
			t.view = t.key
		}
		out[i].insert = insertStatement(&out[i])
	}
	slices.SortFunc(out, func(a, b outputTable) int { return cmp.Compare(a.name, b.name) })
	return out
}

// agree returns the columns of one key's outputs, merged over all workflows. byWorkflow has the columns that each
// workflow declares. agreed is false, and all is nil, if two workflows give a column different kinds. A workflow whose own
// runs give the column different kinds agrees with all others.
func agree(byWorkflow map[string]columns.List) (all columns.List, agreed bool) {
	kinds := make(map[columns.Column]string)
	for _, declared := range byWorkflow {
		for _, c := range declared {
			if c.Type == columns.Mixed {
				continue
			}
			if kind, known := kinds[c.Source()]; known && kind != c.Type.Kind() {
				return nil, false
			}
			kinds[c.Source()] = c.Type.Kind()
		}
		all = all.Union(declared)
	}
	return all, true
}

// nameColumns returns the first maxColumns columns of list, each with a unique name, sorted by name. The name of a
// property's column is the property in snake_case. The name of the column for the whole output is wholeColumn.
func nameColumns(list columns.List) []tableColumn {
	given := columns.NewNameSet("run_id", "node_id", "iteration", textColumn)
	list = list[:min(len(list), maxColumns)]
	properties := make([]string, 0, len(list))
	for _, c := range list {
		if c.Whole {
			given.Take(wholeColumn)
			continue
		}
		properties = append(properties, c.Property)
	}
	named := columns.SnakeNames(properties, given, func(name string) string { return name })
	out := make([]tableColumn, len(list))
	for i, c := range list {
		out[i] = tableColumn{c, named[c.Property]}
		if c.Whole {
			out[i].name = wholeColumn
		}
	}
	slices.SortFunc(out, func(a, b tableColumn) int { return strings.Compare(a.name, b.name) })
	return out
}

// textOf returns the text that s points to, or "" if s is nil.
func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// quoted returns name as a quoted SQL identifier.
func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
