package tui

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/runpage"
	"github.com/git-smithers/git-smithers/internal/desk/browse"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
)

// now returns the time.
func (m *model) now() time.Time { return m.o.Terminal.Now() }

// ruleLine returns a line across the screen.
func (m *model) ruleLine(width int) string {
	return say(m.dim, strings.Repeat(m.rule, width)).draw(width, "")
}

// fill adds empty lines up to height.
func fill(lines []string, width, height int, m *model) []string {
	for len(lines) < height {
		lines = append(lines, line{}.draw(width, m.Dots))
	}
	return lines[:height]
}

// pad adds spaces to the end of a text, up to a width.
func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(width-ansi.StringWidth(text), 0))
}

// padLeft adds spaces to the beginning of a text, up to a width.
func padLeft(text string, width int) string {
	return strings.Repeat(" ", max(width-ansi.StringWidth(text), 0)) + text
}

// countOf returns how many of all are shown.
func countOf(shown, all int) string {
	if shown == all {
		return strconv.Itoa(all)
	}
	return fmt.Sprintf("%d of %d", shown, all)
}

// linesText returns numbers of changed lines: a side that is 0 is left out.
func linesText(m *model, added, removed int64) string {
	var parts []string
	if added > 0 {
		parts = append(parts, "+"+plain.Number(added))
	}
	if removed > 0 {
		parts = append(parts, m.Minus+plain.Number(removed))
	}
	return strings.Join(parts, " ")
}

// codeText returns what changed in files.
func codeText(m *model, c summary.Code) string {
	if c.IsZero() {
		return ""
	}
	return strings.TrimRight(plain.Count(c.Files, "file")+" "+linesText(m, c.Added, c.Removed), " ")
}

// failureText returns why a run failed, on one line.
func failureText(sum *summary.Summary) string {
	f := sum.Failure
	if f.Step == nil {
		return runpage.WithoutCode(plain.OneLine(f.Error))
	}
	text := f.Step.NodeID + " failed"
	if f.Tries == 2 {
		text += " twice"
	} else if f.Tries > 2 {
		text += fmt.Sprintf(" %d times", f.Tries)
	}
	if f.Step.Loop != nil {
		text += " in iteration " + strconv.Itoa(f.Step.Iteration)
	}
	return text + ": " + runpage.WithoutCode(plain.OneLine(f.Error))
}

// waitText returns what an ask waits for, on one line.
func waitText(w summary.Ask) string {
	if w.Ready {
		return display.AttemptName(w.NodeID, w.Iteration) + " waits no more: a resume goes on"
	}
	what := map[string]string{"approval": "your approval", "human": "your answer", "signal": "a signal", "timer": "a time"}[w.For]
	return display.AttemptName(w.NodeID, w.Iteration) + " waits for " + what + ": " + plain.Words(w.What)
}

// runPreview returns what a run begins with: the failure, what it waits for, or its last outputs.
func runPreview(m *model, run *browse.Run) []line {
	var out []line
	switch f := run.Failure; {
	case f != nil:
		out = append(out, say(m.fail.Bold(true), " "+m.Failed+" "+safe(failureText(run.Summary))))
		shown := f.Log[max(len(f.Log)-3, 0):]
		for _, l := range shown {
			out = append(out, say(m.none, "   "+safe(l)))
		}
		if c := f.Change; c != nil {
			ln := say(m.dim, "   before it: ").add(m.none, safe(display.OrEmpty(c.Step)))
			out = append(out, ln.add(m.dim, fmt.Sprintf(", frame %d: ", c.Frame)).add(m.none, codeText(m, c.Code)))
		}
	case len(run.Asks) > 0:
		for _, w := range run.Asks {
			out = append(out, say(m.wait, " "+m.Person+" "+safe(waitText(w))))
			if len(w.Commands) > 0 {
				out = append(out, say(m.dim, "   $ "+safe(w.Commands[0])))
			}
		}
	case run.Session:
		for _, t := range run.Turns[max(len(run.Turns)-4, 0):] {
			sign, _, style := m.Node(t.State)
			out = append(out, say(m.style(style), " "+sign+" ").add(m.none, fmt.Sprintf("turn %d  %s", t.Number, safe(plain.Words(t.Prompt)))))
		}
	default:
		for _, o := range run.Outputs {
			out = append(out, say(m.none, " "+safe(o.Step.Name())+"  ").add(m.dim, safe(display.Value(o.Value, 200))))
		}
		for i := range run.Steps {
			step := &run.Steps[i]
			if step.State == snapshot.NodeInProgress {
				out = append(out, say(m.run, " "+m.Running+" ").add(m.none, safe(step.Name())))
			}
		}
	}
	return out
}
