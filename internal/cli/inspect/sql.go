package inspect

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// maxQuery is the longest query on standard input, in bytes.
const maxQuery = 1 << 20

// withState is the flag that adds the states of a run.
const withState = "--with-state"

// sqlOptions has the options of sql.
type sqlOptions struct {
	query  string // "-": read standard input
	tables bool
	header bool // print the header in a pipe, too

	stateOf string // the run whose states the query finds; "" for none
}

// A sqlTable is a table of the index, as sql --tables lists it.
type sqlTable struct {
	Name    string      `json:"name"`
	Columns []sqlColumn `json:"columns"`
}

// A sqlColumn is a column of a table.
type sqlColumn struct {
	Name string `json:"name"`
	Type string `json:"type"`
	With string `json:"with,omitempty"` // the flag that a query needs for the column
}

func sqlCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "sql",
		Summary: "query runs, events, signals and outputs with SQL",
		Usage:   []string{"<query> [--with-state RUN] [--header]", "[--tables]"},
		About: `Brings the index up to date and runs one read-only SQL statement on it. There are tables of
runs, frames, nodes, attempts, events, approvals, human requests and signals, and one table
for the outputs of each schema, with a column for each field; "git smithers help tables"
describes them. "-" reads the query from standard input. With --with-state, _smithers_snapshots has
the state of each frame of a run as JSON, in Smithers' form: nodes_json, outputs_json,
ralph_json and input_json. Nothing of it is stored.

Without a query, or with --tables, sql lists the tables and their columns. At a terminal,
the result begins with the names of the columns. In a pipe or file, it has one line per row,
with tabs between the values; --header adds the names. With --json, prints one object per
line with the columns as members, and "kind":"row" unless a column is called kind.`,
		MaxArgs: 1,
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "with-state", Usage: "add the state of each frame of `RUN` to _smithers_snapshots"},
			&urfave.BoolFlag{Name: "tables", Usage: "list the tables and their columns"},
			&urfave.BoolFlag{Name: "header", Usage: "print the names of the columns first, even to a pipe or file"},
		},
		Exits: arg.Reads(),
		Examples: []arg.Example{
			{"list the tables", "git smithers sql --tables"},
			{"count attempts by how they ended", `git smithers sql 'SELECT state, count(*) FROM _smithers_attempts GROUP BY state'`},
			{"list the outputs of a schema in all runs", `git smithers sql 'SELECT run_id, severity, _json FROM analysis ORDER BY severity'`},
			{"save a result with its header", `git smithers sql --header 'SELECT run_id, status FROM _smithers_runs' >runs.tsv`},
		},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		opts := sqlOptions{c.Args().First(), c.Bool("tables") || c.NArg() == 0, c.Bool("header"), c.String("with-state")}
		if opts.tables && (c.NArg() > 0 || opts.stateOf != "") {
			return cmd.Misused("--tables takes no query, and --with-state needs one")
		}
		if opts.query == "-" {
			text, err := s.ReadStdin(maxQuery)
			if err != nil {
				return err
			}
			opts.query = string(text)
		}
		return s.WithStore(ctx, func(store *timeline.Store) error { return runSQL(ctx, s, store, opts) })
	}
	return cmd
}

// runSQL lists the tables if opts.tables is true, and otherwise prints the rows that the query returns. The error is
// invalid_query if SQLite refuses the query.
func runSQL(ctx context.Context, s *session.Session, store *timeline.Store, opts sqlOptions) error {
	index, err := requests.WholeIndex(ctx, store)
	if err != nil {
		return err
	}
	if opts.tables {
		return printTables(ctx, s, index)
	}
	overlays, err := sqlOverlays(ctx, store, index, opts)
	if err != nil {
		return err
	}
	answer, err := index.Query(ctx, opts.query, overlays...)
	if errors.Is(err, sqliteindex.ErrQuery) {
		refused := fault.New(fault.InvalidQuery, "%w", err)
		for _, column := range stateColumns() {
			if opts.stateOf == "" && strings.Contains(err.Error(), column) {
				refused = refused.Hint("%s has the column %s with %s RUN, which reads the states of the run", stateTable, column, withState)
			}
		}
		return refused.
			Hint("`%s sql --tables` lists the tables and their columns; `%s help tables` describes them", arg.Program, arg.Program)
	}
	if err != nil {
		return err
	}
	return printAnswer(ctx, s, answer, opts.header)
}

// printAnswer prints the rows of an answer. header is true if the names of the columns are printed in a pipe, too.
func printAnswer(ctx context.Context, s *session.Session, answer *sqliteindex.Answer, header bool) error {
	if s.JSON {
		return writeRows(s, answer)
	}
	t := term.Table{KeepsHeader: header || s.IsTerminalOut()}
	for _, column := range answer.Columns {
		t.Header = append(t.Header, plain.Text(column.Name))
	}
	for _, row := range answer.Rows {
		cells := make([]term.Cell, len(row))
		for i, value := range row {
			cells[i].Text = sqlText(value)
		}
		t.Add(cells...)
	}
	return s.Paged(ctx, func() error { return t.Write(s.Terminal) })
}

// sqlText formats a value of SQLite for people. NULL becomes "", and bytes become hexadecimal digits in lower case.
func sqlText(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case []byte:
		return hex.EncodeToString(v)
	case json.RawMessage:
		return string(v)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprint(value)
}

// writeRows prints each row as a JSON object. The first member is "kind":"row", and the columns follow in their order.
// If a column is called kind, this column replaces "kind":"row".
func writeRows(s *session.Session, answer *sqliteindex.Answer) error {
	names, err := memberNames(answer.Columns)
	if err != nil {
		return err
	}
	start := `{"kind":"row",`
	if slices.ContainsFunc(answer.Columns, func(c sqliteindex.Column) bool { return c.Name == "kind" }) {
		start = "{"
	}
	for _, row := range answer.Rows {
		line := []byte(start)
		for i, value := range row {
			if i > 0 {
				line = append(line, ',')
			}
			text, err := term.EncodeValue(sqlValue(value))
			if err != nil {
				return err
			}
			line = append(append(append(line, names[i]...), ':'), text...)
		}
		if err := s.WriteJSON(json.RawMessage(append(line, '}'))); err != nil {
			return err
		}
	}
	return nil
}

// memberNames returns the names of the columns as JSON strings, each of them different. If several columns have the
// same name, the first keeps the name. The others get the first free number, such as name_2.
func memberNames(columns []sqliteindex.Column) ([]json.RawMessage, error) {
	taken := make(map[string]bool) // false for the name of a later column, true for a name in use
	for _, column := range columns {
		taken[column.Name] = false
	}
	names := make([]json.RawMessage, len(columns))
	for i, column := range columns {
		name := column.Name
		// A name in taken is not free, even if its value is false: a later column keeps this name.
		for n, known := 2, taken[name]; known; n++ {
			name = column.Name + "_" + strconv.Itoa(n)
			_, known = taken[name]
		}
		taken[name] = true
		var err error
		if names[i], err = term.EncodeValue(name); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// sqlValue converts a value of SQLite to a value that encoding/json can write. Bytes become hexadecimal digits in lower
// case, and infinity and NaN become texts. Any other value stays unchanged.
func sqlValue(value any) any {
	switch v := value.(type) {
	case []byte:
		return hex.EncodeToString(v)
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return strings.ToLower(strconv.FormatFloat(v, 'g', -1, 64))
		}
	}
	return value
}
