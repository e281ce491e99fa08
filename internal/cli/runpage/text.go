package runpage

import (
	"errors"
	"fmt"
	"time"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Text returns the page of a run, from what Read has read at the time now.
func Text(sum *summary.Summary, now time.Time, style Style) string {
	v := &page{sum, now}
	c := &canvas{p: style.Painter, g: style.Glyphs, width: min(max(style.Columns, narrowest), widest), now: v.now}
	v.head(c)
	v.failure(c)
	v.waiting(c)
	v.runningNow(c)
	if v.Session {
		v.turnList(c)
	} else {
		v.steps(c)
	}
	v.outputList(c)
	v.forkList(c)
	v.nextList(c)
	return c.String()
}

// unread writes a line for each of the parts that could not be read.
func (v *page) unread(c *canvas, parts ...summary.Part) {
	for _, name := range parts {
		err := v.Unread[name]
		if err == nil {
			continue
		}
		text := err.Error()
		if known, ok := errors.AsType[*fault.Error](err); ok {
			text = known.Msg
		}
		c.line(part{"! ", term.Red}, part{fmt.Sprintf("not all of the %s can be read: %s", name, plain.OneLine(text)), ""})
	}
}

// runningNow writes the attempts that run.
func (v *page) runningNow(c *canvas) {
	if v.Row.Status != snapshot.RunRunning || v.Session {
		return
	}
	first := true
	for i := range v.Steps {
		step := &v.Steps[i]
		last := step.Last()
		if step.State != snapshot.NodeInProgress || last == nil {
			continue
		}
		if first {
			c.WriteByte('\n')
			first = false
		}
		sign, words := c.g.Running, "running for "+display.Took(last.TookMs)
		if v.Stale {
			sign, words = c.g.Silent, "was running"
		}
		if last.Number > 1 {
			words = fmt.Sprintf("attempt %d, %s", last.Number, words)
		}
		c.line(part{sign + " ", term.Blue}, part{step.Name() + "  ", term.Bold}, part{words, ""})
	}
}

// outputList writes the outputs of the last steps.
func (v *page) outputList(c *canvas) {
	if len(v.Outputs) == 0 && v.Unread[summary.PartOutputs] == nil {
		return
	}
	c.title("Outputs")
	width := 0
	for _, o := range v.Outputs {
		width = max(width, min(term.Width(clean(o.Step.Name())), c.width/3))
	}
	for _, o := range v.Outputs {
		members := membersOf(o.Value)
		words := make([]part, len(members))
		for i, m := range members {
			words[i].text = valueOf(m, c.g.Dots)
		}
		c.flow(part{o.Step.Name(), ""}, 2+width+2, inputsLines, words, "  ")
	}
	v.unread(c, summary.PartOutputs)
}

// nextList writes what to type next.
func (v *page) nextList(c *canvas) {
	if len(v.Next) == 0 {
		return
	}
	c.title("Next")
	column := 0
	for _, next := range v.Next {
		if n := term.Width(clean(next.Line)) + 2; n+2+term.Width(next.Does) <= c.width {
			column = max(column, n)
		}
	}
	for _, next := range v.Next {
		c.whole(next.Line, part{next.Does, term.Grey}, column)
	}
}
