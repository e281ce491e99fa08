package runpage

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
)

// toolWidth is the width of the column of tools.
const toolWidth = 12

// turnList writes the turns of a session, with the calls that failed or changed files.
func (v *View) turnList(c *canvas) {
	if len(v.turns) == 0 && v.Unread[summary.PartSteps] == nil && v.Unread[summary.PartCalls] == nil {
		return
	}
	c.title("Turns")
	number := len(strconv.Itoa(len(v.turns)))
	for i := range v.turns {
		v.writeTurn(c, &v.turns[i], number)
	}
	v.unread(c, summary.PartSteps, summary.PartAttempts, summary.PartCalls)
}

// writeTurn writes a turn. number is the width of the numbers of turns.
func (v *View) writeTurn(c *canvas, t *turn, number int) {
	sign, word, style := c.g.Node(t.step.State)
	facts := c.right(count(t.calls, "call"), 10) + c.right(failedWord(t.failed), 10)
	took, _ := t.step.TookMs()
	frames := ""
	switch {
	case t.last > t.first:
		frames = fmt.Sprintf("%d%s%d", t.first, c.g.Skipped, t.last)
	case t.last == t.first:
		frames = strconv.FormatInt(t.first, 10)
	}
	tail := c.right(display.Took(took), tookWidth) + c.right(frames, 10)
	if t.step.State == snapshot.NodeInProgress {
		tail = c.right(word, tookWidth) + c.right(frames, 10)
	}
	begin := sign + " " + c.right(strconv.Itoa(t.step.Iteration), number) + "  "
	if c.width < 80 { // the numbers get a line of their own
		c.line(part{begin, style}, part{firstLine(t.prompt), term.Bold})
		parts := []part{{strings.Repeat(" ", term.Width(begin)) + strings.TrimLeft(facts, " "), ""}}
		c.line(append(append(parts, c.lineParts(t.lines)...), part{tail, term.Grey})...)
	} else {
		room := c.width - term.Width(begin) - term.Width(facts) - codeWidth - term.Width(tail)
		text := term.CutEnd(clean(firstLine(t.prompt)), room, c.g.Dots)
		parts := []part{{begin, style}, {text, term.Bold}, {strings.Repeat(" ", room-term.Width(text)) + facts, ""}}
		c.line(append(append(parts, c.lineParts(t.lines)...), part{tail, term.Grey})...)
	}
	indent := strings.Repeat(" ", 2+number+2)
	for i := range t.shown {
		v.writeCall(c, &t.shown[i], indent)
	}
	if t.folded != "" {
		c.line(part{indent + "  " + t.folded, term.Grey})
	}
}

// failedWord returns words for the number of failed calls, or "" for none.
func failedWord(n int) string {
	if n == 0 {
		return ""
	}
	return plain.Number(n) + " failed"
}

// lineParts returns numbers of lines in their column.
func (c *canvas) lineParts(l *sqliteindex.Lines) []part {
	if l == nil {
		l = new(sqliteindex.Lines)
	}
	return c.codeParts(l.Added, l.Removed, codeWidth)
}

// firstLine returns the first line of a prompt that has words.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if line == "" {
		return "(no words)"
	}
	return line
}

// writeCall writes a call of a turn.
func (v *View) writeCall(c *canvas, call *summary.Call, indent string) {
	input, err := v.Arguments(call)
	if err != nil && v.Unread[summary.PartCalls] == nil {
		v.Unread[summary.PartCalls] = err // the list of turns ends with it
	}
	sign, style := c.g.Finished, term.Green
	switch call.Status {
	case snapshot.ToolCallFailed:
		sign, style = c.g.Failed, term.Red
	case snapshot.ToolCallIntended, snapshot.ToolCallUnknown:
		sign, style = c.g.Pending, term.Grey
	}
	took := ""
	if call.FinishedAtMs != nil {
		took = display.Took(*call.FinishedAtMs - call.StartedAtMs)
	}
	frame := ""
	if call.Frame != nil {
		frame = strconv.FormatInt(*call.Frame, 10)
	}
	begin := indent + sign + " "
	room := c.width - term.Width(begin) - toolWidth - codeWidth - tookWidth - 10
	argument := term.CutMiddle(clean(plain.OneLine(summary.ArgumentOf(input))), max(room, 8), c.g.Dots)
	parts := []part{
		{begin, style},
		{c.left(call.ToolName, toolWidth-1) + " ", ""},
		{argument + strings.Repeat(" ", max(room-term.Width(argument), 0)), ""},
	}
	c.line(append(append(parts, c.lineParts(call.Lines)...), part{c.right(took, tookWidth) + c.right(frame, 10), term.Grey})...)
}
