package report

import (
	"cmp"
	"context"
	"slices"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

const (
	maxRows   = 300 // attempts and steps of a run
	textShown = 80  // characters of what a step said
)

// Row is a row of the table of steps: an attempt, or a step that has not started or has been reset.
type Row struct {
	Step      string // the name of the task
	Label     string // the task's own; "" if it has none
	Loop      bool   // the task is in a loop or ran several times: Iteration says something
	Iteration int
	Attempt   int // 0 for a step that has not started or has been reset
	State     State
	Text      string        // the error, or the output
	After     []string      // the tasks and loops that a pending step comes after
	Calls     summary.Calls // of a turn
	Lines     *summary.Code // how files changed; nil if they did not
	StartMs   int64         // since the start of the run; negative for an attempt from before the fork
	TookMs    int64
	Wait      bool // the attempt is a wait, and no work
	Inherited bool // the attempt is from before the fork
	Frame     string
	Bar, Long int // the position and the length of the bar; Long is 0 for none
	// Folded is the number of rows that this row stands for. Such a row has nothing else.
	Folded int

	placed bool // a step without an attempt that has a place among the attempts
}

// rows sets Rows and Axis.
func (r *runReader) rows(context.Context) error {
	state, err := r.sum.Entry.State()
	if err != nil {
		return timeline.Explain(err)
	}
	r.out.Axis, r.out.Graph = summary.AxisOf(r.sum), graphOf(r.sum, r.name)
	for i := range r.sum.Steps {
		step := &r.sum.Steps[i]
		if len(step.Attempts) == 0 {
			r.out.Rows = append(r.out.Rows, r.restingRow(step))
			continue
		}
		for _, a := range step.Attempts {
			row := r.attemptRow(step, a)
			if r.sum.Session && a == step.Last() {
				if err := r.turnNumbers(&row, step); err != nil {
					return err
				}
			}
			if row.Text == "" && a == step.Last() {
				if row.Text, err = r.said(state, step); err != nil {
					return timeline.Explain(err)
				}
			}
			r.out.Rows = append(r.out.Rows, row)
		}
		if step.State == snapshot.NodePending && step.LastAttempt == nil { // reset: its attempts do not count any more
			r.out.Rows = append(r.out.Rows, r.restingRow(step))
		}
	}
	placeSkipped(r.out.Rows)
	slices.SortStableFunc(r.out.Rows, compareRows)
	r.foldRows()
	if shared := r.sum.SharedChange(); shared != nil && !r.sum.Session {
		r.out.Together = &summary.Code{Added: shared.Lines.Added, Removed: shared.Lines.Removed}
	}
	return nil
}

// graphOf returns the graph of a run, or nil. named returns the name of a task for people.
func graphOf(sum *summary.Summary, named func(string) string) *Graph {
	g := summary.GraphOf(sum)
	if g == nil {
		return nil
	}
	out := &Graph{Layers: g.Layers}
	for _, n := range g.Nodes {
		out.Nodes = append(out.Nodes, GraphNode{named(n.ID), nodeState(n.State), n.Loop != "", n.Iteration, n.Layer, n.Place, n.Needs})
	}
	return out
}

// turnNumbers sets what the calls of a turn changed, and how many there are.
func (r *runReader) turnNumbers(row *Row, turn *summary.Step) error {
	lines, err := r.sum.TurnLines(turn)
	if err != nil {
		return timeline.Explain(err)
	}
	if lines != nil {
		row.Lines = &summary.Code{Added: lines.Added, Removed: lines.Removed}
	}
	calls, err := r.sum.ToolCalls(turn)
	if err != nil {
		return timeline.Explain(err)
	}
	row.Calls.Total = len(calls)
	for _, c := range calls {
		if c.Status == snapshot.ToolCallFailed {
			row.Calls.Failed++
		}
	}
	return nil
}

// placeSkipped gives a step that was skipped in an iteration of a loop the start of the last attempt of the iteration, beside which it
// belongs.
func placeSkipped(rows []Row) {
	for i := range rows {
		row := &rows[i]
		if row.State != Skipped || row.Attempt > 0 || !row.Loop {
			continue
		}
		for _, other := range rows {
			if other.Attempt > 0 && other.Loop && other.Iteration == row.Iteration {
				row.placed, row.StartMs = true, max(row.StartMs, other.StartMs)
			}
		}
	}
}

// compareRows sorts attempts by their start, and steps without attempts behind them, but those that have a place.
func compareRows(a, b Row) int {
	if timedA, timedB := a.Attempt > 0 || a.placed, b.Attempt > 0 || b.placed; timedA != timedB {
		if timedA {
			return -1
		}
		return 1
	} else if !timedA {
		return 0
	}
	return cmp.Compare(a.StartMs, b.StartMs)
}

// restingRow returns the row of a step that has not started, or has been reset since.
func (r *runReader) restingRow(step *summary.Step) Row {
	row := Row{Step: r.name(step.NodeID), Label: r.labelOf(step), Loop: isLoop(step), Iteration: step.Iteration, State: nodeState(step.State)}
	for _, name := range r.sum.After(step.OpenNeeds) {
		row.After = append(row.After, r.name(name))
	}
	return row
}

// labelOf returns the label of a step, or "" if it has none.
func (r *runReader) labelOf(step *summary.Step) string {
	if step.Label == nil {
		return ""
	}
	return r.name(*step.Label)
}

// isLoop reports whether the iteration of a step says something.
func isLoop(step *summary.Step) bool { return step.Loop != nil || step.Iteration > 0 }

// attemptRow returns the row of an attempt.
func (r *runReader) attemptRow(step *summary.Step, a *summary.Attempt) Row {
	row := Row{
		Step: r.name(step.NodeID), Label: r.labelOf(step), Loop: isLoop(step), Iteration: step.Iteration, Attempt: a.Number, State: nodeState(snapshot.NodeState(a.State)),
		Text: r.line(a.Error, textShown), StartMs: a.StartedAtMs - r.sum.StartMs, TookMs: a.TookMs, Wait: a.Wait,
		Inherited: a.Inherited,
	}
	if a.Lines != nil && !a.Together {
		row.Lines = &summary.Code{Added: a.Lines.Added, Removed: a.Lines.Removed}
	}
	if a.Frame != nil {
		row.Frame = timeline.Address{Run: r.sum.Row.ID, Frame: *a.Frame}.String()
	}
	if !a.Inherited {
		row.Bar, row.Long = r.out.Axis.Bar(a.StartedAtMs, a.EndMs)
	}
	if w := waitsFor(r.sum.Waits, a.NodeID, a.Iteration); w != nil && row.Text == "" {
		row.Text = r.line(w.What, textShown)
	}
	return row
}

// said returns the output of a step on one line: of a turn the prompt.
func (r *runReader) said(state *snapshot.State, step *summary.Step) (string, error) {
	if r.sum.Session {
		prompt, _, err := r.sum.Prompt(step)
		return r.line(prompt, textShown), err
	}
	if step.OutputTable == "" {
		return "", nil
	}
	value, ok, err := state.Outputs(step.OutputTable).Get(snapshot.Key(step.NodeID, step.Iteration))
	if err != nil || !ok {
		return "", err
	}
	return oneLine(words(r.mask.text(string(value))), textShown), nil
}

// foldRows leaves out rows beyond the limit.
func (r *runReader) foldRows() {
	r.out.Rows = FoldRows(r.out.Rows, r.share(maxRows))
	for _, row := range r.out.Rows {
		r.out.MoreRows += row.Folded
	}
}

// FoldRows returns at most most of the rows, and a row that stands for all others. It leaves out those in the middle that neither
// failed, nor run, nor wait; if these are not enough, the first rows, too.
func FoldRows(rows []Row, most int) []Row {
	more := len(rows) - most
	if more <= 0 {
		return rows
	}
	total := 0
	for _, row := range rows {
		if row.calm() {
			total++
		}
	}
	first := max((total-more)/2, 0) // what stays at the beginning
	folded, calm := Row{}, 0
	fold := func(row Row) { folded.Folded += max(row.Folded, 1) }
	var out []Row
	place := -1
	for _, row := range rows {
		if row.calm() {
			if calm++; calm > first && calm <= first+more || row.Folded > 0 {
				if place < 0 {
					place = len(out)
				}
				fold(row)
				continue
			}
		}
		out = append(out, row)
	}
	if more = len(out) - most; more > 0 {
		for _, row := range out[:more] {
			fold(row)
		}
		out, place = out[more:], 0
	}
	return slices.Insert(out, place, folded)
}

// calm reports whether a row need not be looked at first.
func (r Row) calm() bool {
	return r.Folded > 0 || r.State == Finished || r.State == Pending || r.State == Skipped || r.State == Cancelled
}
