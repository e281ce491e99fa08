package runpage

import (
	"fmt"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
)

// waiting writes what the run waits for, and how to answer.
func (v *page) waiting(c *canvas) {
	if v.Row.Status.Ended() {
		return
	}
	if v.Unread[summary.PartWaits] != nil {
		c.WriteByte('\n')
		v.unread(c, summary.PartWaits)
	}
	for i := range v.Asks[:min(len(v.Asks), waitsShown)] {
		v.wait(c, &v.Asks[i])
	}
	if more := len(v.Asks) - waitsShown; more > 0 {
		c.line(part{fmt.Sprintf("  and %d more: `git smithers inbox` lists them", more), term.Grey})
	}
}

// wait writes one wait.
func (v *page) wait(c *canvas, w *summary.Ask) {
	c.WriteByte('\n')
	sign, _ := v.waitWords(c, w)
	what := w.What
	switch {
	case w.For == "signal":
		what = "waits for the signal " + w.What
		if w.CorrelationID != nil {
			what += ", correlation " + *w.CorrelationID
		}
	case w.For == "timer" && w.DueAtMs != nil:
		what = "waits until " + v.until(*w.DueAtMs)
	}
	since := v.sinceWords(w)
	name := sign + " " + v.wordOf(w.NodeID, w.Iteration) + "  "
	room := c.width - term.Width(clean(name))
	text := term.CutEnd(clean(plain.OneLine(what)), max(room, shortestName), c.g.Dots)
	parts := []part{{name, term.Yellow}, {text, term.Yellow}}
	if gap := room - term.Width(text) - term.Width(since); since != "" && gap >= 2 {
		c.line(append(parts, part{strings.Repeat(" ", gap) + since, term.Grey})...)
	} else {
		c.line(parts...)
		c.line(part{"    " + since, term.Grey})
	}
	for _, line := range plain.Lines(display.OrEmpty(w.Summary))[:min(len(plain.Lines(display.OrEmpty(w.Summary))), fieldsShown)] {
		if line != "" {
			c.line(part{"    " + line, ""})
		}
	}
	v.fields(c, w)
	if !w.Ready {
		for _, how := range w.Commands {
			c.whole(how, part{}, 0)
		}
	}
}

// wordOf returns the name of a step in the head of a wait.
func (v *page) wordOf(node string, iteration int) string {
	if iteration > 0 {
		return snapshot.Key(node, iteration)
	}
	return node
}

// sinceWords returns since when a wait is, and how long it still is.
func (v *page) sinceWords(w *summary.Ask) string {
	var words []string
	if w.SinceMs != nil && (w.For == "approval" || w.For == "human") {
		words = append(words, "asked "+ago(v.now, *w.SinceMs))
	}
	if w.Ready {
		why := "answered"
		if w.DueAtMs != nil && *w.DueAtMs <= v.now.UnixMilli() {
			why = "its time is over"
		}
		return strings.Join(append(words, why), ", ")
	}
	if w.DueAtMs != nil {
		if left := time.UnixMilli(*w.DueAtMs).Sub(v.now); left > 0 {
			words = append(words, display.Span(left)+" left")
		}
	}
	return strings.Join(words, ", ")
}

// ago returns how long ago a moment was.
func ago(now time.Time, ms int64) string {
	if d := now.Sub(time.UnixMilli(ms)); d >= time.Minute {
		return display.Span(d) + " ago"
	}
	return "just now"
}

// fields writes the fields of the answer to a request.
func (v *page) fields(c *canvas, w *summary.Ask) {
	fields := w.Fields
	if w.Ready {
		return
	}
	name, says := 0, 0
	for _, f := range fields[:min(len(fields), fieldsShown)] {
		name, says = max(name, term.Width(clean(f.Name))), max(says, term.Width(clean(f.Says)))
	}
	name, says = min(name, c.width/4), min(says, c.width/2)
	for _, f := range fields[:min(len(fields), fieldsShown)] {
		parts := []part{{"    ", ""}}
		if name > 0 {
			parts = append(parts, part{c.left(f.Name, name) + "   ", term.Bold})
		}
		text := term.CutEnd(clean(f.Says), says, c.g.Dots)
		pad := strings.Repeat(" ", says-term.Width(text))
		c.line(append(parts, part{text + pad + "   " + f.Need, term.Grey})...)
	}
	if more := len(fields) - fieldsShown; more > 0 {
		c.line(part{fmt.Sprintf("    and %d more", more), term.Grey})
	}
}
