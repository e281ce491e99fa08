package display

import (
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Glyphs are the signs and lines of a view. A word always stands beside a sign of a state, so that no meaning depends on it.
type Glyphs struct {
	Finished, Failed, Running, Person, Clock, Pending, Skipped, Cancelled, Silent string // states
	Loop, Code                                                                    string
	Branch, End, Bar, Dot, Minus, Dots, Arrow                                     string
}

// GlyphsOf returns the glyphs for a terminal.
func GlyphsOf(s *term.Terminal) Glyphs {
	if s.PlainASCII() {
		return Glyphs{
			Finished: "v", Failed: "x", Running: "*", Person: "?", Clock: "~", Pending: ".", Skipped: "-", Cancelled: "#", Silent: "!",
			Loop: "o", Code: ":", Branch: "|", End: "`", Bar: "|", Dot: ".", Minus: "-", Dots: "...", Arrow: ">",
		}
	}
	return Glyphs{
		Finished: "✓", Failed: "✗", Running: "●", Person: "◆", Clock: "◷", Pending: "○", Skipped: "–", Cancelled: "■", Silent: "!",
		Loop: "↻", Code: "▪", Branch: "├", End: "└", Bar: "│", Dot: "·", Minus: "−", Dots: "…", Arrow: "→",
	}
}

// Node returns the sign of a node's state, its word, and its style.
func (g Glyphs) Node(state snapshot.NodeState) (sign, word, style string) {
	switch state {
	case snapshot.NodeFinished:
		return g.Finished, "finished", term.Green
	case snapshot.NodeFailed:
		return g.Failed, "failed", term.Red
	case snapshot.NodeInProgress:
		return g.Running, "running", term.Blue
	case snapshot.NodeWaitingApproval, snapshot.NodeWaitingHuman:
		return g.Person, "waits", term.Yellow
	case snapshot.NodeWaitingEvent, snapshot.NodeWaitingTimer:
		return g.Clock, "waits", term.Yellow
	case snapshot.NodeSkipped:
		return g.Skipped, "skipped", term.Grey
	case snapshot.NodeCancelled:
		return g.Cancelled, "cancelled", term.Grey
	case snapshot.NodePending:
	}
	return g.Pending, "pending", term.Grey
}

// Run returns the sign of a run's status, a word, and the style. stale reports that the status is running, and no process runs the run.
func (g Glyphs) Run(status snapshot.RunStatus, stale bool) (sign, word, style string) {
	switch {
	case stale:
		return g.Silent, "no sign of life", term.Blue
	case status == snapshot.RunWaitingApproval || status == snapshot.RunWaitingHuman:
		return g.Person, "waits", term.Yellow
	case status.Waiting():
		return g.Clock, "waits", term.Yellow
	case status == snapshot.RunRunning:
		return g.Running, "running", term.Blue
	}
	return g.Node(snapshot.NodeState(status)) // the other words are the same
}
