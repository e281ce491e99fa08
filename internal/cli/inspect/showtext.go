package inspect

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/peer/langgraph"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// logShown is how many lines of a failed attempt's log people see.
const logShown = 10

// A stateView writes an entry and its standing for people.
type stateView struct {
	strings.Builder
	standing
	p   display.Painter
	run string // the id of the run
	// sharedWith returns the runs and sessions that were at work in the folder of an attempt.
	sharedWith func(snapshot.Attempt) ([]string, error)
	attempts   bool // write all attempts with their whole logs
}

// entry writes the whole view of an entry: the run, the entry itself, the working copies, the state, and the attempts.
// at is the address of the entry.
func (v *stateView) entry(at timeline.Address, entry *snapshot.Entry) error {
	v.run = at.Run
	row, err := entry.RunRow()
	if err != nil {
		return err
	}
	v.row(at, row, entry)
	if err := v.calls(entry); err != nil {
		return err
	}
	if err := v.scores(entry); err != nil {
		return err
	}
	if err := v.workingCopy(entry); err != nil {
		return err
	}
	state, err := entry.State()
	if err != nil {
		return err
	}
	for _, part := range []func(*snapshot.State) error{
		v.input, v.nodes, v.waits, v.loops, v.outputs, v.approvals, v.requests, v.signals,
	} {
		if err := part(state); err != nil {
			return err
		}
	}
	if err := v.called(entry); err != nil {
		return err
	}
	return v.journal(entry)
}

// heading writes the beginning of the view of an entry: the address and the status, and then the time, the subject and
// the ids. row is the row of the run at the entry.
func (v *stateView) heading(at timeline.Address, row snapshot.Run, entry *snapshot.Entry) {
	v.firstLine(at, row, entry)
	v.came(at, entry)
}

// firstLine writes the address at of a frame, and the status in row. If entry is not a frame, firstLine writes the
// number of the frame before it instead of an address.
func (v *stateView) firstLine(at timeline.Address, row snapshot.Run, entry *snapshot.Entry) {
	name := at.String()
	if isNewer(entry) {
		name = fmt.Sprintf("%s, after frame %d", at.Run, at.Frame)
	}
	v.printf("%s  %s\n", v.p.Paint(term.Bold, plain.Text(name)), v.p.Status(plain.Text(string(row.Status))))
}

// came writes the time, the subject and the ids of an entry. If the entry is not a frame, came also writes the subject
// of the newest frame before it. at is the address of the entry.
func (v *stateView) came(at timeline.Address, entry *snapshot.Entry) {
	v.field("time", display.ClockTime(entry.AtMs))
	v.field("what", plain.Shorten(entry.Subject, display.ValueShown))
	for _, id := range entry.IDs {
		v.field("id", id)
	}
	if isNewer(entry) {
		v.field(fmt.Sprintf("frame %d", at.Frame), v.frame)
	}
}

// isNewer reports whether an entry, such as a signal, came after the newest frame and is not a frame itself.
func isNewer(entry *snapshot.Entry) bool { return entry.Frame == snapshot.NoFrame }

// row writes the facts about the run and the entry: first the address and the status, and then a line for each fact
// that is known. Its parameter row is the row of the run at the entry. at is the address of the entry.
func (v *stateView) row(at timeline.Address, row snapshot.Run, entry *snapshot.Entry) {
	v.firstLine(at, row, entry)
	workflow := row.Workflow
	if row.WorkflowPath != "" {
		workflow += " (" + row.WorkflowPath + ")"
	}
	v.field("workflow", workflow)
	if row.Parent != nil {
		v.parent(row.Parent)
	}
	if c := row.Caller; c != nil {
		v.field("called by", fmt.Sprintf("run %s, task %s, attempt %d", c.RunID, snapshot.Key(c.NodeID, c.Iteration), c.Attempt))
	}
	v.came(at, entry)
	v.field("commit", entry.ID.String())
	v.field("content", entry.ContentHash.String())
	v.field("error", row.Error)
	v.field("next", v.next)
	v.foreign()
	v.field("owner", v.owner)
	for _, decision := range v.late {
		v.field("late", decision.Subject)
	}
	if v.over != nil {
		v.field("dropped", fmt.Sprintf("this frame was dropped by frame %d: %s", v.over.Frame, v.over.Subject))
	}
}

// foreign writes, for each engine from which the run was imported, which frame of that engine is the same as this
// frame. It also writes the mismatches that the import found in the data of the engine.
func (v *stateView) foreign() {
	for _, e := range v.engines {
		if e.Engine == agent.EngineName || e.Engine == langgraph.EngineName {
			continue // the memory of a session or of a thread is no other history
		}
		is := "has no such frame"
		if e.Frame != nil {
			is = fmt.Sprintf("frame %d", *e.Frame)
		}
		v.field("in "+app.EngineName(e.Engine), is)
		for _, m := range e.Marks {
			v.field("mark", fmt.Sprintf("%s: stored %s, found %s", m.What, m.Stored, m.Found))
		}
	}
}

// parent writes the address of the frame from which the run was forked. If a fetch stored the run of another repository
// under a new id, parent writes the original run instead. v.origin must not be nil.
func (v *stateView) parent(parent *snapshot.Parent) {
	short := plain.Shorten(parent.Label, display.ValueShown)
	switch from := v.origin; {
	case !from.Elsewhere:
		v.field("forked from", from.At.String()+label(&short))
	case parent.Extension.IsZero():
		v.field("forked from", "another repository's "+from.At.String()+label(&short))
	default:
		v.field("taken from", "another repository's "+from.At.Run+label(&short))
	}
	v.field("description", plain.Shorten(parent.Description, display.ValueShown))
}

// field writes a line with a name and a value. It writes nothing if value is "".
func (v *stateView) field(name, value string) {
	if value != "" {
		v.printf("  %-11s  %s\n", name, plain.Text(value))
	}
}

// printf writes text, formatted as fmt.Sprintf does.
func (v *stateView) printf(format string, args ...any) { fmt.Fprintf(&v.Builder, format, args...) }

// title writes an empty line, and the title of a part of the view.
func (v *stateView) title(text string) { v.WriteString("\n" + v.p.Paint(term.Bold, text) + "\n") }

// input writes the beginning of the run's input. It writes nothing if the run has no input.
func (v *stateView) input(state *snapshot.State) error {
	input, err := state.Input()
	if err != nil || input == nil {
		return err
	}
	v.title("Input")
	v.printf("  %s\n", plain.Text(plain.Shorten(string(input), display.ValueShown)))
	return nil
}

// nodes writes a table of all nodes.
func (v *stateView) nodes(state *snapshot.State) error {
	t := term.Table{Header: []string{"NODE", "ITERATION", "STATE", "ATTEMPT", "NEEDS", "LABEL"}}
	for n, err := range state.AllNodes() {
		if err != nil {
			return err
		}
		attempt := ""
		if n.LastAttempt != nil {
			attempt = strconv.Itoa(*n.LastAttempt)
		}
		t.Add(term.Cell{Text: n.NodeID}, term.Cell{Text: strconv.Itoa(n.Iteration)}, term.Cell{Text: string(n.State), Paint: v.p.Status},
			term.Cell{Text: attempt}, term.Cell{Text: strings.Join(n.Needs, " ")}, term.Cell{Text: plain.Shorten(display.OrEmpty(n.Label), display.ValueShown)})
	}
	v.table("Nodes", &t)
	return nil
}

// loops writes a table of all loops.
func (v *stateView) loops(state *snapshot.State) error {
	t := term.Table{Header: []string{"LOOP", "ITERATION", "DONE"}}
	for l, err := range state.AllLoops() {
		if err != nil {
			return err
		}
		t.Add(term.Cell{Text: l.RalphID}, term.Cell{Text: strconv.Itoa(l.Iteration)}, term.Cell{Text: strconv.FormatBool(l.Done)})
	}
	v.table("Loops", &t)
	return nil
}

// outputs writes a table of the outputs in all output tables.
func (v *stateView) outputs(state *snapshot.State) error {
	t := term.Table{Header: []string{"OUTPUT", "NODE", "ITERATION", "VALUE"}}
	for _, name := range state.Tables() {
		for row, err := range state.Outputs(name).Rows() {
			if err != nil {
				return err
			}
			node, iteration, err := snapshot.SplitKey(row.Key)
			if err != nil {
				return err
			}
			t.Add(term.Cell{Text: name}, term.Cell{Text: node}, term.Cell{Text: strconv.Itoa(iteration)},
				term.Cell{Text: plain.Shorten(string(row.Value), display.ValueShown)})
		}
	}
	v.table("Outputs", &t)
	return nil
}

// table writes a table under a title. It writes nothing if the table has no rows.
func (v *stateView) table(title string, t *term.Table) {
	if len(t.Rows) > 0 {
		v.title(title)
		t.Align(&v.Builder, "  ")
	}
}

// calls writes how many tool calls the journal of the entry has, and how many of them failed.
func (v *stateView) calls(entry *snapshot.Entry) error {
	rows, err := entry.ToolCalls()
	if err != nil || rows.Len() == 0 {
		return err
	}
	failed := 0
	for call, err := range entry.AllToolCalls() {
		if err != nil {
			return err
		}
		if call.Status == snapshot.ToolCallFailed {
			failed++
		}
	}
	text := strconv.Itoa(rows.Len())
	if failed > 0 {
		text += fmt.Sprintf(", %d failed", failed)
	}
	v.field("tool calls", text)
	return nil
}

// scores writes a line for each scorer that has scored tasks of the run.
func (v *stateView) scores(entry *snapshot.Entry) error {
	scorers, err := summary.ScorersOf(entry)
	for _, scorer := range scorers {
		v.field("score", plain.Text(plain.Cut(scorer.Name, titleShown))+" "+display.Score(scorer.Mean)+spreadOf(scorer))
	}
	return err
}

// spreadOf returns what a mean does not say of the scores of a scorer, such as ", the mean of 3, from 0.2 to 0.9".
func spreadOf(scorer summary.Scorer) string {
	if scorer.Count == 1 {
		return ""
	}
	text := fmt.Sprintf(", the mean of %d", scorer.Count)
	if scorer.Min != scorer.Max {
		text += ", from " + display.Score(scorer.Min) + " to " + display.Score(scorer.Max)
	}
	return text
}

// journal writes the failed attempts in the journal of the entry, each with the end of its log. With --attempts, it
// writes all attempts, each with its whole log. If there are no such attempts, it writes nothing.
func (v *stateView) journal(entry *snapshot.Entry) error {
	attempts, err := listAttempts(entry)
	if err != nil {
		return err
	}
	logs, err := entry.Logs()
	if err != nil {
		return err
	}
	title := "Failed attempts"
	if v.attempts {
		title = "Attempts"
	}
	for _, a := range attempts {
		if !v.attempts && a.State != snapshot.AttemptFailed {
			continue
		}
		if title != "" {
			v.title(title)
			title = ""
		}
		if err := v.attempt(keyOf(a), a, logs); err != nil {
			return err
		}
	}
	return nil
}

// attempt writes one attempt, the frame that has its files, and its log. Without --attempts, it writes only the last
// logShown lines of the log. key is the key of the attempt in logs, the collection of all logs.
func (v *stateView) attempt(key string, a snapshot.Attempt, logs *page.Collection) error {
	v.printf("  %s, attempt %d: %s", plain.Text(display.AttemptName(a.NodeID, a.Iteration)), a.Attempt, v.p.Status(plain.Text(a.State)))
	switch {
	case a.FinishedAtMs != nil:
		v.printf(" after %s", display.Duration(time.Duration(*a.FinishedAtMs-a.StartedAtMs)*time.Millisecond))
	case snapshot.NodeState(a.State).Waiting():
		v.printf(" since %s", display.ClockTime(a.StartedAtMs))
	}
	if a.CachedFrom != "" {
		v.printf(", cached from %s", plain.Text(a.CachedFrom))
	}
	if a.Sandbox != "" {
		v.printf(", in a sandbox (%s)", plain.Text(a.Sandbox))
	}
	if a.Error != "" {
		v.printf(": %s", plain.Text(a.Error))
	}
	v.WriteByte('\n')
	if err := v.pointer(a); err != nil {
		return err
	}
	text, ok, err := logs.Get(key)
	if err != nil || !ok {
		return err
	}
	log, err := snapshot.DecodeLog(page.Row{Key: key, Value: text})
	if err != nil {
		return err
	}
	lines := plain.Lines(log)
	if cut := len(lines) - logShown; cut > 0 && !v.attempts {
		v.printf("    | %s\n", v.p.Paint(term.Dim, "… "+plain.Count(cut, "line")+" before; --attempts shows them"))
		lines = lines[cut:]
	}
	for _, line := range lines {
		v.printf("    | %s\n", line)
	}
	return nil
}
