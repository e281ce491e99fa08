package tui

import (
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func (s *runScreen) keys(m *model) []hint {
	if s.inside {
		return []hint{{"↑↓", "scroll"}, {"tab", "steps"}, {"1…5", "tabs"}, {"←→", "frame"}, {"b", "blame"}}
	}
	hints := []hint{{"←→", "frame"}}
	if m.width >= 110 {
		hints = append(hints, hint{"[ ]", "code change"}, hint{"n N", "failure"})
	}
	hints = append(hints, hint{"↑↓", "step"}, hint{"tab", "pane"})
	if s.tab == tabCode || s.tab == tabState && s.wide(m) {
		hints = append(hints, hint{"b", "blame"})
	}
	switch {
	case s.run != nil && s.run.Session:
		hints = append(hints, hint{"w", "what if"}, hint{"r", "replay"})
	case s.run != nil && s.run.Row.Status == snapshot.RunRunning:
		hints = append(hints, hint{"x", "cancel"}, hint{"f", "fork"})
	default:
		hints = append(hints, hint{"f", "fork"}, hint{"r", "replay"})
	}
	if m.width >= 110 {
		hints = append(hints, hint{"R", "restore"})
	}
	if s.run != nil && len(s.run.Asks) > 0 {
		hints = append([]hint{{"a", "answer"}}, hints...)
	}
	return append(hints, hint{"t", "travel"}, hint{"z", "undo"})
}

// title returns the first line of the screen.
func (s *runScreen) title(m *model) line {
	if s.run == nil {
		return say(m.bold, " "+safe(s.id)).add(m.dim, "  reading")
	}
	sum := s.run.Summary
	sign, word, style := m.Run(sum.Row.Status, sum.Stale)
	ln := say(m.style(style), " "+sign+" ").add(m.bold, safe(s.name())).add(m.style(style), "  "+word)
	facts := slices.DeleteFunc([]string{sum.Row.Workflow, display.Took(sum.TookMs)}, func(fact string) bool { return fact == "" })
	if sum.Session {
		facts = sessionFacts(m, s.run)
	} else if m.width >= 110 {
		facts = append(facts, plain.Count(sum.FrameCount, "frame"), display.Moment(m.now(), sum.StartMs, "15:04"))
	}
	ln = ln.add(m.none, " "+m.Dot+" "+safe(strings.Join(facts, " "+m.Dot+" ")))
	if !sum.Row.Status.Ended() {
		ln = ln.atRight(m.run, m.Running+" live ")
	}
	return ln
}

func (s *runScreen) draw(m *model, width, height int) []string {
	out := []string{s.title(m).draw(width, m.Dots)}
	if s.run == nil {
		return fill(out, width, height, m)
	}
	if reason := s.reason(m); len(reason.spans) > 0 {
		out = append(out, reason.draw(width, m.Dots))
	}
	below := s.belowLines(m, width, height)
	left := 31
	if width >= 110 {
		left = 51
	}
	body := max(height-len(out)-len(below)-2, 1)
	room := width - left - 2
	if width < 80 { // one pane
		room = width - 2
	}
	s.text.lines = s.textLines(m, room)
	s.text.clamp(body - 1)
	switch {
	case width < 80 && s.inside:
		out = append(out, m.ruleLine(width), s.tabLine(m).draw(width, m.Dots))
		out = append(out, s.text.draw(width, body-1, m.Dots)...)
		out = append(out, m.ruleLine(width))
	case width < 80:
		out = append(out, m.ruleLine(width))
		out = append(out, s.stepPane(m, width, body)...)
		out = append(out, m.ruleLine(width))
	default:
		right := width - left - 1
		out = append(out, m.splitRule(left, right, m.tee))
		rows := s.stepPane(m, left, body)
		text := append([]string{s.tabLine(m).draw(right, m.Dots)}, s.text.draw(right, body-1, m.Dots)...)
		for i := range rows {
			out = append(out, rows[i]+m.dim.Render(m.bar)+text[i])
		}
		out = append(out, m.splitRule(left, right, m.up))
	}
	return fill(append(out, below...), width, height, m)
}

// splitRule returns a line across the screen with the end of the line between two panes.
func (m *model) splitRule(left, right int, joint string) string {
	return m.dim.Render(strings.Repeat(m.rule, left) + joint + strings.Repeat(m.rule, right))
}

// belowLines returns what stands below the panes: the frames, and the command.
func (s *runScreen) belowLines(m *model, width, height int) []string {
	strip := s.strip(m, width)
	command := say(m.dim, " $ "+safe(fault.CommandLine(fault.Program, s.command()...)))
	if height < 12 {
		return []string{strip.draw(width, m.Dots)}
	}
	var out []string
	if height >= 29 && width >= 80 {
		for _, ln := range s.barLines(m, width) {
			out = append(out, ln.draw(width, m.Dots))
		}
	}
	return append(out, strip.draw(width, m.Dots), command.draw(width, m.Dots))
}

// wide reports whether state and code stand in one tab.
func (s *runScreen) wide(m *model) bool { return m.width >= 110 }

// tabLine returns the names of the tabs.
func (s *runScreen) tabLine(m *model) line {
	ln := line{}.add(m.none, "  ")
	names := []string{"State", "Code", "Log", "Tries", "Events"}
	if s.run.Session {
		names[tabLog], names[tabTries] = "Conversation", "Usage"
	}
	if s.wide(m) && !s.run.Session {
		names[tabState], names[tabCode] = "State and code", ""
	}
	for i, name := range names {
		if name == "" {
			continue
		}
		if i == s.tab || i == tabState && s.tab == tabCode && names[tabCode] == "" {
			ln = ln.add(m.bold.Underline(true), "["+name+"]").add(m.none, "  ")
			continue
		}
		ln = ln.add(m.none, name+"  ")
	}
	return ln
}
