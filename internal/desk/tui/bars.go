package tui

import (
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
)

// maxBarRows is the largest number of rows of bars.
const maxBarRows = 6

// A barRow is the row of a task on the axis of time.
type barRow struct {
	name     string
	attempts []*summary.Attempt
}

// barRows returns a row for each task, in the order of their starts. If there are many, the chosen task and those beside it are shown.
func (s *runCursor) barRows() (rows []barRow) {
	at := make(map[string]int)
	for _, a := range s.run.Attempts {
		if a.Inherited {
			continue
		}
		i, ok := at[a.NodeID]
		if !ok {
			i = len(rows)
			at[a.NodeID] = i
			rows = append(rows, barRow{name: a.NodeID})
		}
		rows[i].attempts = append(rows[i].attempts, a)
	}
	if len(rows) <= maxBarRows {
		return rows
	}
	from := 0
	if step := s.chosen(); step != nil {
		from = max(min(at[step.NodeID]-maxBarRows/2, len(rows)-maxBarRows), 0)
	}
	return rows[from : from+maxBarRows]
}

// barLines returns the attempts of tasks on an axis of time, with a line at the frame of the cursor. Long gaps of the axis are cut, and said.
func (s *runCursor) barLines(m *model, width int) (out []line) {
	rows := s.barRows()
	if len(rows) == 0 || s.run.Session {
		return nil
	}
	const label = 15
	room := max(width-label-2, 10)
	axis := summary.AxisOf(s.run.Summary)
	column := func(ms int64) int { return min(axis.At(ms)*room/summary.Whole, room-1) }
	cursor := -1
	if s.frame < len(s.run.Shown) {
		cursor = column(s.at(m))
	}
	for _, row := range rows {
		cells, styles := make([]string, room), make([]lipgloss.Style, room)
		for i := range cells {
			cells[i] = " "
		}
		for _, a := range row.attempts {
			text, style := s.barOf(m, a)
			for i := column(a.StartedAtMs); i <= column(a.EndMs); i++ {
				cells[i], styles[i] = text, style
			}
		}
		if cursor >= 0 {
			cells[cursor], styles[cursor] = m.bar, m.accent
		}
		ln := say(m.none, " "+pad(plain.Shorten(safe(row.name), label-2), label-1))
		for i := range cells {
			ln = ln.add(styles[i], cells[i])
		}
		out = append(out, ln)
	}
	if len(axis.Gaps) > 0 {
		out = append(out, s.gapLine(m, axis, room, label))
	}
	return out
}

// barOf returns how a cell of an attempt looks. What came after the cursor is dim.
func (s *runCursor) barOf(m *model, a *summary.Attempt) (string, lipgloss.Style) {
	text, style := "━", m.ok
	switch {
	case a.Wait:
		text, style = "░", m.wait
	case a.State == snapshot.AttemptFailed:
		text, style = "╍", m.fail
	case a.State == snapshot.AttemptInProgress:
		style = m.run
	}
	if a.StartedAtMs > s.timeOfCursor() {
		text, style = "╌", m.dim
	}
	if m.ascii {
		text = map[string]string{"━": "=", "░": "~", "╍": "x", "╌": "."}[text]
	}
	return text, style
}

// gapLine returns the line that says how long the gaps are that are cut out of the axis.
func (s *runCursor) gapLine(m *model, axis summary.Axis, room, label int) line {
	text := []rune(strings.Repeat(" ", room))
	for _, g := range axis.Gaps {
		said := []rune(m.Dots + " " + display.Took(g.ToMs-g.FromMs))
		at := max(min(g.At*room/summary.Whole-len(said)/2, room-len(said)), 0)
		copy(text[at:], said)
	}
	return say(m.dim, blank(label)+string(text))
}
