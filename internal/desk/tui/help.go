package tui

import tea "charm.land/bubbletea/v2"

// helpScreen lists the keys.
type helpScreen struct{}

func (*helpScreen) load(*model) tea.Cmd            { return nil }
func (*helpScreen) update(*model, tea.Msg) tea.Cmd { return nil }
func (*helpScreen) press(m *model, key string) (tea.Cmd, bool) {
	if key == "?" || key == "q" {
		m.over = nil
		return nil, true
	}
	return nil, false
}
func (*helpScreen) keys(*model) []hint { return nil }

// helpRows are the keys, in two columns. A row with one text is a heading.
var helpRows = [][]string{ //nolint:gochecknoglobals // a table
	{"move", "look"},
	{"↑ ↓  j k", "row, step", "1 … 5", "state code log tries events"},
	{"← →  h l", "frame before, after", "b", "blame: who wrote each line"},
	{"[ ]", "code change", "m", "mark: compare with this frame"},
	{"n N", "failure", "/", "filter, or find in the text"},
	{"g G", "first, newest", "F", "follow what is new"},
	{"{ }", "file of a patch, or turn", "T", "forks as a tree"},
	{"tab", "next pane", "c", "compare with another run"},
	{"⏎ esc", "in, out", "y Y", "copy the address, the command"},
	{"do (each shows its command first)"},
	{"f", "fork here", "a A", "approve or answer; deny"},
	{"r", "replay from here", "S", "signal"},
	{"R", "restore the files", "x", "cancel"},
	{"t", "travel: take the run back", "L", "land on the current branch"},
	{"z", "undo the last of these", "P", "push this run"},
	{"u", "resume", ":", "any git smithers command"},
}

func (*helpScreen) draw(m *model, width, height int) []string {
	out := []string{say(m.bold, " Keys").atRight(m.dim, "? or esc closes ").draw(width, m.Dots), m.ruleLine(width)}
	for _, row := range helpRows {
		ln := line{}
		switch len(row) {
		case 1:
			ln = say(m.bold, " "+row[0])
		case 2:
			ln = say(m.bold, " "+pad(row[0], 39)+row[1])
		default:
			ln = say(m.bold, "   "+pad(m.keyName(row[0]), 12)).add(m.none, pad(row[1], 26)).add(m.bold, pad(m.keyName(row[2]), 6)).add(m.none, row[3])
		}
		out = append(out, ln.draw(width, m.Dots))
	}
	g := m.Glyphs
	legend := line{}.add(m.ok, " "+g.Finished).add(m.none, " finished  ").add(m.fail, g.Failed).add(m.none, " failed  ").add(m.run, g.Running).add(m.none, " running  ").
		add(m.wait, g.Person).add(m.none, " waits for you  ").add(m.wait, g.Clock).add(m.none, " waits  ").add(m.dim, g.Pending).add(m.none, " pending")
	more := line{}.add(m.dim, " "+g.Skipped).add(m.none, " skipped  ").add(m.dim, g.Cancelled).add(m.none, " cancelled  ").add(m.run, g.Silent).add(m.none, " no sign of life  ").
		add(m.none, g.Loop+" loop  ").add(m.accent, g.Code).add(m.none, " code changed here")
	out = append(out, line{}.draw(width, ""), legend.draw(width, m.Dots), more.draw(width, m.Dots))
	return fill(out, width, height, m)
}
