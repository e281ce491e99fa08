package tui

import (
	"strings"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/desk/browse"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
)

// A talkRead has the conversation of a session.
type talkRead struct {
	run  string
	talk []browse.Said
}

const (
	maxSaid      = 4000 // characters of a prompt or an answer
	maxCallLines = 6    // lines of what a failed call answered
)

// talkLines returns the conversation of the chosen turn. The line of the call at the frame of the cursor is marked.
func (s *runScreen) talkLines(m *model, width int) (out []line) {
	step := s.chosen()
	if s.talk == nil || step == nil {
		return []line{say(m.dim, " reading")}
	}
	at := s.run.Shown[s.frame].FrameNo
	for i := range s.talk {
		said := &s.talk[i]
		switch {
		case said.Turn != step.Iteration:
			continue
		case said.Call != nil:
			out = append(out, s.callLine(m, said, at))
			if said.Call.Status == snapshot.ToolCallFailed {
				out = append(out, answerLines(m, said.Output)...)
			}
			continue
		}
		out = append(out, line{})
		name := "       "
		if said.User {
			name = " you   "
		}
		for text := range strings.SplitSeq(strings.TrimSpace(plain.Cut(said.Text, maxSaid)), "\n") {
			for _, part := range wrap(safe(plain.Uncolored(text)), width-8) {
				out = append(out, say(m.bold, name).add(m.none, part))
				name = "       "
			}
		}
		out = append(out, line{})
	}
	if len(out) == 0 {
		return []line{say(m.dim, " nothing was said in this turn")}
	}
	return out
}

// callLine returns the line of a tool call.
func (s *runCursor) callLine(m *model, said *browse.Said, at int64) line {
	c := said.Call
	sign, style := m.Pending, m.dim
	switch c.Status {
	case snapshot.ToolCallFailed:
		sign, style = m.Failed, m.fail
	case snapshot.ToolCallSucceeded:
		sign, style = m.Finished, m.ok
	}
	mark := "   "
	here := c.Frame != nil && *c.Frame == at
	if here {
		mark = " " + m.cursor + " "
	}
	ln := say(m.accent, mark).add(style, sign+" ").add(m.bold, pad(safe(c.ToolName), 6)).add(m.none, " "+safe(plain.Words(said.Argument)))
	if c.FinishedAtMs != nil {
		ln = ln.atRight(m.none, " "+s.callCode(m, c)).atRight(m.dim, padLeft(display.Took(max(*c.FinishedAtMs-c.StartedAtMs, 0)), 9)+" ")
	}
	return ln
}

// callCode returns how many lines changed at the frame of a call.
func (s *runCursor) callCode(m *model, c *summary.Call) string {
	if c.Lines == nil {
		return ""
	}
	text := linesText(m, c.Lines.Added, c.Lines.Removed)
	if c.Together {
		text = "together " + text
	}
	return text
}

// answerLines returns the end of what a failed call answered.
func answerLines(m *model, output string) (out []line) {
	lines := plain.Lines(plain.Uncolored(output))
	for _, l := range lines[max(len(lines)-maxCallLines, 0):] {
		out = append(out, say(m.dim, "       "+m.Bar+" ").add(m.none, safe(l)))
	}
	return out
}

// sessionFacts returns what the first line says of a session.
func sessionFacts(m *model, run *browse.Run) []string {
	facts := []string{run.Row.Workflow, plain.Count(run.Calls.Total, "call")}
	if code := codeText(m, run.Code); code != "" {
		facts = append(facts, code)
	}
	if u := run.Usage; u != nil {
		facts = append(facts, display.Tokens(u.Tokens()))
		if u.CostUSD > 0 {
			facts = append(facts, plain.Cost(u.CostUSD))
		}
	}
	return facts
}

// usageLines returns what the session used, by model.
func (s *runCursor) usageLines(m *model) (out []line) {
	u := s.run.Usage
	if u == nil {
		return []line{say(m.dim, " the session does not say what it used")}
	}
	row := func(name, value string) {
		out = append(out, say(m.dim, " "+pad(name, 24)).add(m.none, padLeft(value, 14)))
	}
	row("input tokens", plain.Number(u.InputTokens))
	row("output tokens", plain.Number(u.OutputTokens))
	row("read from a cache", plain.Number(u.CacheReadTokens))
	row("written to a cache", plain.Number(u.CacheCreationTokens))
	if u.CostUSD > 0 {
		row("cost", plain.Cost(u.CostUSD))
	}
	for _, model := range u.ByModel() {
		out = append(out, say(m.none, " "+safe(model.Name)).add(m.dim, "  "+display.Tokens(model.Tokens)))
	}
	return out
}
