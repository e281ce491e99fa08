package report

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/diff"
	"github.com/git-smithers/git-smithers/snapshot"
)

// stateLines returns the differences between two states as lines.
func (r *runReader) stateLines(d *diff.Result) []Line {
	var out []Line
	add := func(kind LineKind, format string, args ...any) {
		text, left := cut(strings.ReplaceAll(r.mask.text(fmt.Sprintf(format, args...)), "\n", " "), lineShown)
		out = append(out, Line{Kind: kind, Text: text, Cut: left})
	}
	for _, key := range d.NodesAdded {
		add(AddedLine, "%s", key)
	}
	for _, n := range d.NodesChanged {
		if n.From.State != n.To.State {
			add(ChangedLine, "%s: %s → %s", n.Key, n.From.State, n.To.State)
		}
	}
	for _, key := range d.NodesRemoved {
		add(RemovedLine, "%s", key)
	}
	output := func(table, node string, iteration int, value json.RawMessage) string {
		return fmt.Sprintf("%s of %s: %s", table, snapshot.Key(node, iteration), value)
	}
	for _, o := range d.OutputsRemoved {
		add(RemovedLine, "%s", output(o.Table, o.NodeID, o.Iteration, o.Value))
	}
	for _, o := range d.OutputsAdded {
		add(AddedLine, "%s", output(o.Table, o.NodeID, o.Iteration, o.Value))
	}
	for _, o := range d.OutputsChanged {
		add(RemovedLine, "%s", output(o.Table, o.NodeID, o.Iteration, o.From))
		add(AddedLine, "%s", output(o.Table, o.NodeID, o.Iteration, o.To))
	}
	for _, l := range d.LoopsChanged {
		add(ChangedLine, "loop %s: iteration %d → %d", l.RalphID, l.From.Iteration, l.To.Iteration)
	}
	if d.Input != nil {
		add(RemovedLine, "input: %s", d.Input.From)
		add(AddedLine, "input: %s", d.Input.To)
	}
	for _, s := range d.SignalsAdded {
		add(AddedLine, "signal %s: %s", s.Name, s.Payload)
	}
	mailLines(add, "approval", d.ApprovalsAdded, d.ApprovalsChanged)
	mailLines(add, "question", d.HumanRequestsAdded, d.HumanRequestsChanged)
	mailLines(add, "wait", d.WaitsAdded, d.WaitsChanged)
	return out
}

// mailLines adds the lines of one collection of the mailbox.
func mailLines[T any](add func(LineKind, string, ...any), what string, added []diff.Mail[T], changed []diff.MailChange[T]) {
	text := func(row T) []byte {
		data, _ := json.Marshal(row) //nolint:errchkjson // rows of ours are valid
		return data
	}
	for _, m := range added {
		add(AddedLine, "%s of %s: %s", what, m.Key, text(m.Row))
	}
	for _, m := range changed {
		add(RemovedLine, "%s of %s: %s", what, m.Key, text(m.From))
		add(AddedLine, "%s of %s: %s", what, m.Key, text(m.To))
	}
}
