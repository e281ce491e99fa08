package runpage

import (
	"cmp"
	"fmt"
	"slices"
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
func (v *page) turnList(c *canvas) {
	if len(v.Turns) == 0 && v.Unread[summary.PartSteps] == nil && v.Unread[summary.PartCalls] == nil {
		return
	}
	c.title("Turns")
	number := len(strconv.Itoa(len(v.Turns)))
	for i := range v.Turns {
		v.writeTurn(c, &v.Turns[i], number)
	}
	v.unread(c, summary.PartSteps, summary.PartAttempts, summary.PartCalls)
}

// writeTurn writes a turn. number is the width of the numbers of turns.
func (v *page) writeTurn(c *canvas, t *summary.Turn, number int) {
	sign, word, style := c.g.Node(t.State)
	facts := c.right(plain.Count(t.Calls, "call"), 10) + c.right(failedWord(t.Failed), 10)
	frames := ""
	switch {
	case t.First == nil:
	case *t.Last > *t.First:
		frames = fmt.Sprintf("%d%s%d", *t.First, c.g.Skipped, *t.Last)
	default:
		frames = strconv.FormatInt(*t.First, 10)
	}
	tail := c.right(display.Took(t.TookMs), tookWidth) + c.right(frames, 10)
	if t.State == snapshot.NodeInProgress {
		tail = c.right(word, tookWidth) + c.right(frames, 10)
	}
	begin := sign + " " + c.right(strconv.Itoa(t.Number), number) + "  "
	if c.width < 80 { // the numbers get a line of their own
		c.line(part{begin, style}, part{firstLine(t.Prompt), term.Bold})
		parts := []part{{strings.Repeat(" ", term.Width(begin)) + strings.TrimLeft(facts, " "), ""}}
		c.line(append(append(parts, c.lineParts(t.Lines)...), part{tail, term.Grey})...)
	} else {
		room := c.width - term.Width(begin) - term.Width(facts) - codeWidth - term.Width(tail)
		text := term.CutEnd(clean(firstLine(t.Prompt)), room, c.g.Dots)
		parts := []part{{begin, style}, {text, term.Bold}, {strings.Repeat(" ", room-term.Width(text)) + facts, ""}}
		c.line(append(append(parts, c.lineParts(t.Lines)...), part{tail, term.Grey})...)
	}
	indent := strings.Repeat(" ", 2+number+2)
	for i := range t.Shown {
		v.writeCall(c, &t.Shown[i], indent)
	}
	if len(t.Folded) > 0 {
		c.line(part{indent + "  " + countByName(t.Folded), term.Grey})
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
func (v *page) writeCall(c *canvas, call *summary.Call, indent string) {
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

// toolsNamed is how many tools the count of folded calls names.
const toolsNamed = 4

// countByName returns numbers of calls by tool, in words, the most frequent first.
func countByName(calls map[string]int) string {
	names := make([]string, 0, len(calls))
	total := 0
	for name, n := range calls {
		names = append(names, name)
		total += n
	}
	all := plain.Count(total, "call")
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(calls[b], calls[a]), cmp.Compare(a, b)) })
	parts := make([]string, 0, toolsNamed)
	for _, name := range names[:min(len(names), toolsNamed)] {
		parts = append(parts, fmt.Sprintf("%s %d", name, calls[name]))
		total -= calls[name]
	}
	if total > 0 {
		parts = append(parts, fmt.Sprintf("others %d", total))
	}
	return all + ": " + strings.Join(parts, ", ")
}
