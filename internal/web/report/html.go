// Package report draws reports on runs: as a page of HTML in one file, as Markdown for a comment, and as an image of the time
// axis.
//
// Whatever a run has stored is a stranger's text. On the page, it goes through the escaping of html/template, and characters that
// are not seen are shown by their numbers. The page has no script, and refers to nothing outside of itself.
package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/app/report"
	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// MaxBytes is the largest size of a page.
const MaxBytes = 2_000_000

// rowsShown is the number of rows of the table of steps above which the rest of the rows is folded.
const rowsShown = 40

//go:embed page.html
var pageText string

//go:embed style.css
var style string

// page is what the template of the page gets.
type page struct {
	Report *report.Report
	One    *report.Run // the run, if the report is on one alone
	Style  template.CSS
	Policy string
}

// HTML returns the page of a report, of at most MaxBytes. It takes lines out of the parts of r until they fit. Code: limit_exceeded
// if the rest alone is too large.
func HTML(r *report.Report) ([]byte, error) {
	t, err := template.New("page").Funcs(functions()).Parse(pageText)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(style))
	p := page{
		Report: r, Style: template.CSS(style), //nolint:gosec // a file of ours
		Policy: "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'",
	}
	if len(r.Runs) == 1 {
		p.One = r.Runs[0]
	}
	var out bytes.Buffer
	for budget := MaxBytes; ; budget -= out.Len() - MaxBytes + 1000 { // the counts of what is left out take bytes, too
		r.Fit(budget, lineCost)
		out.Reset()
		if err := t.Execute(&out, p); err != nil {
			return nil, err
		}
		if out.Len() <= MaxBytes {
			return out.Bytes(), nil
		}
		if budget < 0 {
			return nil, fault.New(fault.LimitExceeded, "the report has more than %d MB", MaxBytes/1_000_000).Hint("name fewer runs")
		}
	}
}

// table is a table of steps.
type table struct {
	Run    *report.Run
	Rows   []tableRow
	Long   int64  // the length of the axis
	Count  int    // the number of all rows
	Code   bool   // a row has changed lines
	States []look // of all rows, each once
}

// tableRow is a row of a table of steps.
type tableRow struct {
	report.Row

	Total int64 // the length of the axis
	Gaps  []summary.Gap
	Tried bool // the step has several attempts
	Whole bool // all rows are in a table below
	Span  int  // the number of columns after the first
}

// maxLabels is the largest number of gaps whose lengths stand above the axis.
const maxLabels = 2

// Labels returns the gaps whose lengths stand above the axis: those in its middle, unless there are many.
func (t *table) Labels() []summary.Gap {
	const edge = summary.Whole / 4 // room for the ends
	gaps := slices.DeleteFunc(slices.Clone(t.Run.Axis.Gaps), func(g summary.Gap) bool { return g.At < edge || g.At > summary.Whole-edge })
	if len(gaps) > maxLabels {
		return nil
	}
	return gaps
}

// newTable returns a table with rows of a run.
func newTable(r *report.Run, rows []report.Row) *table {
	t := &table{Run: r, Long: r.Axis.ToMs - r.Axis.FromMs, Count: len(r.Rows)}
	t.Code = slices.ContainsFunc(rows, func(row report.Row) bool { return row.Lines != nil })
	span := 5 // without the column of changed lines
	if t.Code {
		span++
	}
	for _, row := range rows {
		tried := row.Attempt > 1 || slices.ContainsFunc(rows, func(other report.Row) bool {
			return other.Attempt > 1 && other.Step == row.Step && other.Iteration == row.Iteration
		})
		t.Rows = append(t.Rows, tableRow{row, t.Long, r.Axis.Gaps, tried && row.Attempt > 0 && !r.Session, len(rows) < len(r.Rows), span})
	}
	for _, state := range states() {
		if slices.ContainsFunc(rows, func(row report.Row) bool { return row.State == state && row.Folded == 0 }) {
			t.States = append(t.States, lookOf(state))
		}
	}
	return t
}

// functions returns the functions of the template.
func functions() template.FuncMap {
	return template.FuncMap{
		"t": onPage, "look": lookOf, "num": number[int], "num64": number[int64], "count": count[int], "took": took, "worked": worked, "since": since, "forkNow": forkNow, "moment": moment,
		"minute": minute, "short": short, "money": plain.Cost, "times": times, "reason": reason, "waitWord": waitWord, "forksOf": forksOf, "scoresOf": scoresOf,
		"leftOut": leftOut, "together": together, "body": body, "title": title, "done": done, "middle": middle,
		"due":       func(ms *int64) string { return moment(*ms) },
		"hint":      hintParts,
		"mille":     func(n int) string { return fmt.Sprintf("%d.%d%%", n/10, n%10) },
		"cutAt":     func(g summary.Gap) int { return g.At - summary.Whole/100 },
		"gap":       func(g summary.Gap) string { return took(g.ToMs - g.FromMs) },
		"graph":     graph,
		"arguments": func(line string) []string { return strings.Split(line, " ") },
		"partNote":  partNote,
		"costs": func(r *report.Report) bool {
			return slices.ContainsFunc(r.Runs, func(run *report.Run) bool { return run.Usage != nil })
		},
		"rest": func(r *report.Run) string { return fault.CommandLine(fault.Program, "show", r.ID) },
		"verdict": func(r *report.Run) struct{ Ours, Stored string } {
			ours, stored := verdict(r)
			return struct{ Ours, Stored string }{ours, stored}
		},
		"table": func(r *report.Run) *table { return newTable(r, report.FoldRows(r.Rows, rowsShown)) },
		"folded": func(r *report.Run) *table {
			if len(r.Rows) <= rowsShown {
				return nil
			}
			return newTable(r, r.Rows)
		},
	}
}

// A hintPart is a part of a hint: a command, or the words around it.
type hintPart struct {
	Code bool
	Text string
}

// hintParts returns the parts of a hint, which has commands in backquotes.
func hintParts(hint string) []hintPart {
	var parts []hintPart
	for i, text := range strings.Split(hint, "`") {
		if text != "" {
			parts = append(parts, hintPart{i%2 == 1, text})
		}
	}
	return parts
}

// partNote returns how much a part has.
func partNote(p *report.Part) string {
	switch p.Kind {
	case report.LogPart:
		return count(len(p.Lines)+p.Left, "line")
	case report.TalkPart:
		calls := 0
		for _, l := range p.Lines {
			if l.Kind == report.CallLine {
				calls++
			}
		}
		if calls > 0 {
			return count(calls, "call")
		}
	case report.CodePart, report.StatePart:
	}
	return ""
}

// title returns the title of a report.
func title(r *report.Report) string {
	if len(r.Runs) == 1 {
		run := r.Runs[0]
		ours, stored := verdict(run)
		name := run.Name
		if name == "" {
			name = run.ID
		}
		return shown(name + " " + ours + stored)
	}
	var words []string
	for _, state := range states() {
		n := 0
		for _, run := range r.Runs {
			if run.State == state {
				n++
			}
		}
		if n > 0 {
			words = append(words, number(n)+" "+lookOf(state).Word)
		}
	}
	return count(len(r.Runs), "run") + ": " + strings.Join(words, ", ")
}

// done returns how many steps of a run have finished, of how many, or how many turns a session has.
func done(r *report.Run) string {
	if r.Session {
		return count(len(r.Rows)+max(r.MoreRows-1, 0), "turn")
	}
	finished, steps := make(map[string]bool), make(map[string]bool)
	for _, row := range r.Rows {
		key := fmt.Sprint(row.Step, " ", row.Iteration)
		steps[key] = true
		if row.State == report.Finished {
			finished[key] = true
		}
	}
	return number(len(finished)) + " of " + number(len(steps))
}
