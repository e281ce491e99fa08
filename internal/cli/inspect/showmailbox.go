package inspect

import (
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/mail"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// waits writes a table of everything that nodes wait for: open approvals, open human requests, signals and timers.
func (v *stateView) waits(state *snapshot.State) error {
	t := term.Table{Header: []string{"NODE", "FOR", "WHAT", "SINCE", "DUE"}}
	add := func(node string, iteration int, kind, what string, sinceMs int64, dueMs *int64) {
		t.Add(term.Cell{Text: display.AttemptName(node, iteration)}, term.Cell{Text: kind}, term.Cell{Text: plain.Shorten(what, display.ValueShown)},
			term.Cell{Text: display.ClockTime(sinceMs)}, term.Cell{Text: optionalTime(dueMs)})
	}
	for a, err := range state.AllApprovals() {
		if err != nil {
			return err
		}
		if a.Status == snapshot.ApprovalRequested {
			add(a.NodeID, a.Iteration, "approval", a.Title, a.RequestedAtMs, nil)
		}
	}
	for h, err := range state.AllHumanRequests() {
		if err != nil {
			return err
		}
		if h.Status == snapshot.HumanPending {
			add(h.NodeID, h.Iteration, "human", h.Prompt, h.RequestedAtMs, h.TimeoutAtMs)
		}
	}
	for w, err := range state.AllWaits() {
		if err != nil {
			return err
		}
		if w.Status == snapshot.WaitWaiting {
			what := signalWaited(w)
			if mark := v.untold.Mark(w.Kind, w.NodeID, w.Iteration); mark != "" {
				what += ": sent" + mark
			}
			add(w.NodeID, w.Iteration, w.Kind, what, w.StartedAtMs, w.DueAtMs)
		}
	}
	v.table("Waits", &t)
	return nil
}

// signalWaited returns the name of the signal that ends the wait w. If the signal must have a certain correlation id,
// or no correlation id, the text also says so. For a timer, signalWaited returns "".
func signalWaited(w snapshot.Wait) string {
	switch {
	case w.Kind != snapshot.WaitSignal || w.AnyCorrelation:
		return w.Signal
	case w.CorrelationID == nil:
		return w.Signal + ", without a correlation"
	}
	return w.Signal + ", correlation " + *w.CorrelationID
}

// optionalTime formats a moment as display.ClockTime does. ms is the moment in milliseconds since 1970. If ms is nil,
// the result is "".
func optionalTime(ms *int64) string {
	if ms == nil {
		return ""
	}
	return display.ClockTime(*ms)
}

// approvals writes a table of the decided approvals. It marks each decision that was not passed to the engine that runs
// the run.
func (v *stateView) approvals(state *snapshot.State) error {
	t := term.Table{Header: []string{"APPROVAL", "DECISION", "BY", "WHEN", "NOTE", "TITLE"}}
	for a, err := range state.AllApprovals() {
		if err != nil {
			return err
		}
		if a.Status != snapshot.ApprovalRequested {
			t.Add(term.Cell{Text: display.AttemptName(a.NodeID, a.Iteration)}, term.Cell{Text: a.Status + v.untold.Mark(mail.KindApproval, a.NodeID, a.Iteration)},
				term.Cell{Text: display.OrEmpty(a.DecidedBy)},
				term.Cell{Text: optionalTime(a.DecidedAtMs)}, term.Cell{Text: plain.Shorten(display.OrEmpty(a.Note), display.ValueShown)},
				term.Cell{Text: plain.Shorten(a.Title, display.ValueShown)})
		}
	}
	v.table("Approvals", &t)
	return nil
}

// requests writes a table of the human requests that are no longer pending. It marks each answer that was not passed to
// the engine that runs the run.
func (v *stateView) requests(state *snapshot.State) error {
	t := term.Table{Header: []string{"REQUEST", "STATUS", "BY", "WHEN", "ANSWER", "PROMPT"}}
	for h, err := range state.AllHumanRequests() {
		if err != nil {
			return err
		}
		if h.Status != snapshot.HumanPending {
			t.Add(term.Cell{Text: display.AttemptName(h.NodeID, h.Iteration)}, term.Cell{Text: h.Status + v.untold.Mark(h.Kind, h.NodeID, h.Iteration)},
				term.Cell{Text: display.OrEmpty(h.AnsweredBy)},
				term.Cell{Text: optionalTime(h.AnsweredAtMs)}, term.Cell{Text: plain.Shorten(string(h.Response), display.ValueShown)},
				term.Cell{Text: plain.Shorten(h.Prompt, display.ValueShown)})
		}
	}
	v.table("Human requests", &t)
	return nil
}

// signals writes how many signals the run has received. It writes nothing if the run has received no signal.
func (v *stateView) signals(state *snapshot.State) error {
	if n := state.Signals().Len(); n > 0 {
		v.title("Signals")
		v.printf("  %d received; `git smithers signal --list %s` lists them\n", n, fault.Word(v.run))
	}
	return nil
}
