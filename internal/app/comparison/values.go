package comparison

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

const (
	maxInputs  = 12 // how many members of inputs are compared
	maxOutputs = 8  // how many columns of outputs are compared if nobody chooses
	shortText  = 40 // the length of the longest text that is compared if nobody chooses, in characters
)

// A Column is a member of the newest row of an output table.
type Column struct {
	Table string
	Path  []string // the names of the members down to the value; empty for the whole row
}

// String returns the column as users write it: table.member.
func (c Column) String() string { return strings.Join(append([]string{c.Table}, c.Path...), ".") }

// in returns the value of the column in a row of its table, or nil if the row does not have it.
func (c Column) in(row json.RawMessage) json.RawMessage {
	for _, name := range c.Path {
		if row = objectOf(row)[name]; row == nil {
			return nil
		}
	}
	return row
}

// A newestRow is the newest row of an output table of a run: the row of the last of its steps.
type newestRow struct {
	value json.RawMessage
	at    int // the position of the step
}

// newestRows returns the newest row of each output table of a run.
func newestRows(sum *summary.Summary) (map[string]newestRow, error) {
	state, err := sum.Entry.State()
	if err != nil {
		return nil, err
	}
	position := make(map[string]int, len(sum.Steps))
	for i := range sum.Steps {
		position[snapshot.Key(sum.Steps[i].NodeID, sum.Steps[i].Iteration)] = i + 1 // 0 is before all steps
	}
	rows := make(map[string]newestRow)
	for _, table := range state.Tables() {
		newest, at := page.Row{}, -1
		for row, err := range state.Outputs(table).Rows() {
			if err != nil {
				return nil, err
			}
			if position[row.Key] > at {
				newest, at = row, position[row.Key]
			}
		}
		rows[table] = newestRow{newest.Value, at}
	}
	return rows, addScores(sum, rows)
}

// scoresTable is the table of what scorers gave a run: a member for each scorer, with the mean. An output table of this name has
// precedence.
const scoresTable = "scores"

// addScores adds the table of the scores of a run to rows, unless nothing scored the run.
func addScores(sum *summary.Summary, rows map[string]newestRow) error {
	if _, taken := rows[scoresTable]; taken || len(sum.Scorers) == 0 {
		return nil
	}
	means := make(map[string]float64, len(sum.Scorers))
	for _, scorer := range sum.Scorers {
		means[scorer.Name] = scorer.Mean
	}
	text, err := json.Marshal(means)
	rows[scoresTable] = newestRow{text, len(sum.Steps) + 1}
	return err
}

// addGiven adds scores to those of a run, in the place of its own.
func addGiven(sum *summary.Summary, scores map[string]float64) {
	for name, score := range scores {
		sum.Scorers = slices.DeleteFunc(sum.Scorers, func(s summary.Scorer) bool { return s.Name == name })
		sum.Scorers = append(sum.Scorers, summary.Scorer{Name: name, Mean: score, Min: score, Max: score, Count: 1})
	}
}

// chooseValues sets By, Inputs and Outputs, and the outputs of the runs. It warns of a column that no run has.
func (c *Comparison) chooseValues(s *timeline.Store, o Options) error {
	c.chooseInputs()
	rows := make([]map[string]newestRow, len(c.Runs))
	for i, run := range c.Runs {
		var err error
		if rows[i], err = newestRows(run.Summary); err != nil {
			return err
		}
	}
	if err := c.chooseBy(s.Warn, o, rows); err != nil {
		return err
	}
	for _, name := range o.Outputs {
		c.addOutput(columnOf(name, rows))
	}
	known := shortColumns(rows)
	if len(o.Outputs) == 0 {
		c.OutputsLeft = max(0, len(known)-maxOutputs)
		for _, column := range known[c.OutputsLeft:] {
			c.addOutput(column)
		}
	}
	for _, column := range c.Outputs {
		if c.computed && column.String() == c.By.String() {
			continue
		}
		found := false
		for i, run := range c.Runs {
			if value := column.in(rows[i][column.Table].value); value != nil {
				run.Outputs[column.String()], found = value, true
			}
		}
		if !found {
			s.Warn(noOutput(column, known))
		} else if c.By != nil && column.String() == c.By.String() && !isNumber(column, rows) {
			s.Warn(noNumber(column, known, rows))
		}
	}
	return nil
}

// isNumber reports whether a run has a number, true or false in a column.
func isNumber(column Column, rows []map[string]newestRow) bool {
	return slices.ContainsFunc(rows, func(run map[string]newestRow) bool {
		_, ok := Number(column.in(run[column.Table].value))
		return ok
	})
}

// noNumber returns the warning that no run is the best by a column, because no run has a number in it.
func noNumber(by Column, known []Column, rows []map[string]newestRow) error {
	var names []string
	for _, c := range known {
		if isNumber(c, rows) && len(names) < maxOutputs {
			names = append(names, c.String())
		}
	}
	text := fmt.Sprintf("no run is the best by %q, which is neither a number nor true or false", by.String())
	if len(names) > 0 {
		text += "; compare by one of " + strings.Join(names, ", ")
	}
	return errors.New(text)
}

// noOutput returns the warning that no run has a column.
func noOutput(column Column, known []Column) error {
	if len(known) == 0 {
		return fmt.Errorf("no run has the output %q yet", column.String())
	}
	names := make([]string, 0, maxOutputs)
	for _, c := range known[max(0, len(known)-maxOutputs):] {
		names = append(names, c.String())
	}
	return fmt.Errorf("no run has the output %q; outputs of these runs are %s", column.String(), strings.Join(names, ", "))
}

// addOutput adds a column unless it is there already.
func (c *Comparison) addOutput(column Column) {
	if !slices.ContainsFunc(c.Outputs, func(is Column) bool { return is.String() == column.String() }) {
		c.Outputs = append(c.Outputs, column)
	}
}

// columnOf returns the column that name names: table.member, with or without "outputs." before it. The table is the longest
// beginning of the name that is a table of one of the runs or, if there is none, the part before the first dot.
func columnOf(name string, rows []map[string]newestRow) Column {
	names := []string{name}
	if short, ok := strings.CutPrefix(name, "outputs."); ok {
		names = []string{short, name}
	}
	for _, name := range names {
		for end := len(name); end > 0; end = strings.LastIndexByte(name[:end], '.') {
			isTable := func(run map[string]newestRow) bool { _, ok := run[name[:end]]; return ok }
			if !slices.ContainsFunc(rows, isTable) {
				continue
			}
			if end == len(name) {
				return Column{Table: name}
			}
			return Column{name[:end], strings.Split(name[end+1:], ".")}
		}
	}
	table, path, ok := strings.Cut(names[0], ".")
	if !ok {
		return Column{Table: table}
	}
	return Column{table, strings.Split(path, ".")}
}

// shortColumns returns the columns whose values are numbers, true or false, or short texts in at least one run: those of the
// tables that the first steps write first.
func shortColumns(rows []map[string]newestRow) []Column {
	last := make(map[string]int) // the position of each table
	for _, run := range rows {
		for table, row := range run {
			last[table] = max(last[table], row.at)
		}
	}
	delete(last, summary.UsageTable)
	tables := slices.SortedFunc(maps.Keys(last), func(a, b string) int {
		return cmp.Or(cmp.Compare(last[a], last[b]), cmp.Compare(a, b))
	})
	var out []Column
	for _, table := range tables {
		names, whole := make(map[string]bool), false
		for _, run := range rows {
			row := run[table].value
			whole = whole || isShort(row)
			for name, value := range objectOf(row) {
				if isShort(value) {
					names[name] = true
				}
			}
		}
		if whole {
			out = append(out, Column{Table: table})
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if !strings.Contains(name, ".") { // a path cannot name it
				out = append(out, Column{table, []string{name}})
			}
		}
	}
	return out
}

// isShort reports whether a value is a number, true or false, or a short text on one line.
func isShort(value json.RawMessage) bool {
	value = bytes.TrimSpace(value)
	if len(value) == 0 {
		return false
	}
	var text string
	switch value[0] {
	case '{', '[', 'n':
		return false
	case '"':
		return len(value) < 16*shortText && json.Unmarshal(value, &text) == nil &&
			utf8.RuneCountInString(text) <= shortText && !strings.Contains(text, "\n")
	}
	return len(value) <= shortText
}

// chooseInputs sets Inputs. If there are many members, those that differ in some runs come before the others.
func (c *Comparison) chooseInputs() {
	names := make(map[string]bool) // whether the member differs
	for _, run := range c.Runs {
		for name := range run.Inputs {
			if _, known := names[name]; !known {
				names[name] = slices.ContainsFunc(c.Runs, func(r *Run) bool { return !bytes.Equal(Compact(run.Inputs[name]), Compact(r.Inputs[name])) })
			}
		}
	}
	all := slices.Sorted(maps.Keys(names))
	slices.SortStableFunc(all, func(a, b string) int {
		switch {
		case len(all) <= maxInputs || names[a] == names[b]:
			return 0
		case names[a]:
			return -1
		}
		return 1
	})
	c.Inputs = all[:min(len(all), maxInputs)]
	c.InputsLeft = len(all) - len(c.Inputs)
}
