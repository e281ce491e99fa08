package inspect

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/app/comparison"
	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
)

// The groups of a comparison.
const (
	groupInput   = "Input"
	groupOutcome = "Outcome"
	groupCost    = "Cost"
	groupCode    = "Code"
)

// cellShown is the width of the widest value in a comparison.
const cellShown = 28

// A compareField is one thing that a comparison shows of each run.
type compareField struct {
	group, title string
	// text returns the value for people, or "" if the run has none.
	text func(*comparison.Run) string
	// stored returns the value by which runs are equal, for a value that text shortens. It is nil if they are equal by the text.
	stored func(*comparison.Run) json.RawMessage
	// rank is the order in which fields are shown where a line is too short for all: the lowest first.
	rank   int
	values []string // the texts, by run
	exact  []string // what is compared, by run
}

// equalToBase reports whether the run with index i has the value of the base.
func (f *compareField) equalToBase(i int) bool { return f.exact[i] == f.exact[0] }

// differs reports whether a run has another value than the base.
func (f *compareField) differs() bool {
	for i := range f.exact {
		if !f.equalToBase(i) {
			return true
		}
	}
	return false
}

// isEmpty reports whether no run has a value.
func (f *compareField) isEmpty() bool {
	for _, value := range f.values {
		if value != "" {
			return false
		}
	}
	return true
}

// compareFields returns the fields of a comparison in the order in which people see them, with the values of all runs. It
// leaves out fields of which no run has a value and, with onlyDifferences, those that are equal in all runs.
func compareFields(c *comparison.Comparison, onlyDifferences bool) []*compareField {
	all := []*compareField{
		{title: "prompt", rank: 12, text: func(r *comparison.Run) string { return r.Name.Text() }},
		{title: "forked from", rank: 14, text: forkedFrom},
		{title: "first differs at", rank: 2, text: func(r *comparison.Run) string { return firstDiffers(c, r) }},
	}
	for _, name := range c.Inputs {
		all = append(all, valueField(groupInput, cmp.Or(name, "input"), 5, func(r *comparison.Run) json.RawMessage { return r.Inputs[name] }))
	}
	for i, column := range c.Outputs {
		rank := 6
		if i == 0 && c.By != nil {
			rank = 1
		}
		all = append(all, valueField(groupOutcome, column.String(), rank, func(r *comparison.Run) json.RawMessage { return r.Outputs[column.String()] }))
	}
	all = append(all,
		&compareField{group: groupOutcome, title: "failed attempts", rank: 9, text: func(r *comparison.Run) string { return strconv.Itoa(r.Failed) }},
		&compareField{group: groupCost, title: "took (own)", rank: 3, text: func(r *comparison.Run) string { return took(r.TookMs) }},
		&compareField{group: groupCost, title: "waited", rank: 10, text: func(r *comparison.Run) string { return took(r.WaitedMs) }},
		&compareField{group: groupCost, title: "tokens", rank: 7, text: tokens},
		&compareField{group: groupCost, title: "dollars", rank: 8, text: dollars},
		&compareField{group: groupCode, title: "lines", rank: 4, text: func(r *comparison.Run) string { return changedLines(r.Code) }},
		&compareField{group: groupCode, title: "files", rank: 11, text: func(r *comparison.Run) string { return changedFiles(r.Code) }},
	)
	var out []*compareField
	for _, f := range all {
		for _, run := range c.Runs {
			text := f.text(run)
			f.values = append(f.values, text)
			if f.stored != nil {
				text = string(comparison.Compact(f.stored(run)))
			}
			f.exact = append(f.exact, text)
		}
		if !f.isEmpty() && (!onlyDifferences || f.differs()) {
			out = append(out, f)
		}
	}
	return out
}

// valueField returns the field of a JSON value.
func valueField(group, title string, rank int, stored func(*comparison.Run) json.RawMessage) *compareField {
	return &compareField{group: group, title: title, rank: rank, stored: stored, text: func(r *comparison.Run) string {
		return display.Value(stored(r), cellShown)
	}}
}

// forkedFrom returns the address of the frame from which a run was forked, or "".
func forkedFrom(r *comparison.Run) string {
	if r.Origin == nil {
		return ""
	}
	return plain.Text(r.Origin.At.String())
}

// firstDiffers returns where a run first differs from the base.
func firstDiffers(c *comparison.Comparison, r *comparison.Run) string {
	switch {
	case r == c.Runs[0]:
		return "base"
	case r.First.Row != nil:
		return rowName(r.First.Row)
	case r.First.Open:
		return "not yet"
	}
	return "nowhere"
}

// rowName returns the name of the step of a row and, if the row is about a tool call, the tool and the number of the call in the step.
func rowName(row *comparison.Row) string {
	step, call := cmp.Or(row.A, row.B), cmp.Or(row.CallA, row.CallB)
	name := plain.Text(step.Name())
	if call != nil {
		name += ", call " + strconv.Itoa(call.Number) + " " + plain.Text(call.ToolName)
	}
	return name
}

// statusOf returns the status of a run for people: what it waits for, or which steps have failed.
func statusOf(r *comparison.Run) string {
	status := r.Row.Status
	switch {
	case r.Stale:
		return "running (stale)"
	case status.Waiting():
		var names []string
		for _, w := range r.Waits {
			names = append(names, w.NodeID)
		}
		return withNames("waits", names)
	case status == snapshot.RunFailed:
		return withNames("failed", r.FailedSteps())
	}
	return string(status)
}

// withNames returns a word and the first of the names after a colon.
func withNames(word string, names []string) string {
	if len(names) == 0 {
		return word
	}
	return word + ": " + display.ListUpTo(1, names)
}

// took formats milliseconds for people. It returns "" for 0.
func took(ms int64) string {
	if ms == 0 {
		return ""
	}
	return display.Duration(time.Duration(ms) * time.Millisecond)
}

// tokens returns the number of tokens of a run, or "" if it is unknown.
func tokens(r *comparison.Run) string {
	if r.Usage == nil {
		return ""
	}
	return plain.Number(r.Usage.Tokens())
}

// dollars returns the cost of a run, or "" if it is unknown.
func dollars(r *comparison.Run) string {
	if r.Usage == nil || r.Usage.CostUSD == 0 {
		return ""
	}
	return plain.Cost(r.Usage.CostUSD)
}

// changedLines returns the numbers of added and removed lines, or "" if none changed. A side that is 0 is left out.
func changedLines(code summary.Code) string {
	var sides []string
	if code.Added > 0 {
		sides = append(sides, "+"+plain.Number(code.Added))
	}
	if code.Removed > 0 {
		sides = append(sides, "−"+plain.Number(code.Removed))
	}
	return strings.Join(sides, " ")
}

// changedFiles returns the number of changed files, or "" if none changed.
func changedFiles(code summary.Code) string {
	if code.Files == 0 {
		return ""
	}
	return plain.Number(code.Files)
}
