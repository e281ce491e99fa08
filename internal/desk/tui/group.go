package tui

import (
	"context"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/git-smithers/git-smithers/internal/app/group"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/runpage"
	"github.com/git-smithers/git-smithers/internal/desk/browse"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// groupScreen shows the variants of a group as a table.
type groupScreen struct {
	id    string
	group *group.Group
	ended bool // the group has ended, and is not read again before another screen was open
	at    int  // the row of the cursor
	list  pane
}

// A groupRead has the group of a screen.
type groupRead struct {
	of    *groupScreen
	group *group.Group
}

func (s *groupScreen) load(m *model) tea.Cmd {
	if s.ended {
		return nil
	}
	return m.read.poll("group "+s.id, func(ctx context.Context, from *browse.Reader) (tea.Msg, error) {
		g, err := group.Open(ctx, from.Store, s.id, "", from.Now())
		return groupRead{s, g}, err
	})
}

func (s *groupScreen) update(_ *model, msg tea.Msg) tea.Cmd {
	if msg, ok := msg.(groupRead); ok && msg.of == s {
		s.group, s.at = msg.group, moved(s.at, 0, len(msg.group.Variants))
		s.ended = s.group.Row.Status.Ended()
	}
	return nil
}

func (s *groupScreen) press(m *model, key string) (tea.Cmd, bool) {
	if s.group == nil {
		return nil, false
	}
	runs := s.group.Runs()
	at := slices.Index(runs, s.group.Variants[s.at].RunID)
	switch by := rowsOf(key, m.height/2); key {
	case "enter", "l", "right":
		if s.ended = false; at >= 0 { // the run may be resumed there
			return m.open(newRunScreen(runs[at], -1)), true
		}
		m.note = "this variant has no run here"
	case "c":
		at = max(at, 0)
		return m.compare(slices.Concat(runs[at:], runs[:at]), s.group.Plan.By, "fewer than two variants have started"), true
	case "o":
		s.ended = false
		return m.open(newRunScreen(s.id, s.group.Row.Frame)), true
	default:
		s.at = moved(s.at, by, len(s.group.Variants))
		return nil, by != 0
	}
	return nil, true
}

func (s *groupScreen) draw(m *model, width, height int) []string {
	g := s.group
	if g == nil {
		return fill([]string{say(m.bold, " "+safe(s.id)).add(m.dim, "  reading").draw(width, m.Dots)}, width, height, m)
	}
	sign, word, style := m.Run(g.Row.Status, g.Stale)
	head := say(m.style(style), " "+sign+" ").add(m.bold, safe(s.id)).add(m.style(style), "  "+word).add(m.none, " "+m.Dot+" "+safe(g.Count()))
	table := runpage.GroupTable(g, display.Painter{})
	table.Fit(width - 6)
	text, _ := table.Lines()
	rows := strings.Split(m.keyName(text), "\n")
	row := func(i int, chosen bool) line {
		sign, _, style := m.Run(snapshot.RunStatus(g.Variants[i].Status), g.Variants[i].Stale)
		return m.marked(say(m.style(style), sign+" ").add(m.none, rows[i+1]), chosen)
	}
	var below []line
	for _, said := range runpage.GroupLines(g) {
		below = append(below, say(m.none, " "+safe(plain.OneLine(said))))
	}
	below = append(below, say(m.dim, " $ "+safe(fault.CommandLine(fault.Program, "show", s.id))))
	return m.listPage([]line{head, say(m.dim, "     "+rows[0])}, &s.list, s.at, len(g.Variants), row, below, width, height)
}

func (*groupScreen) keys(*model) []hint {
	return []hint{{"⏎", "open"}, {"↑↓", "variant"}, {"c", "compare"}, {"o", "the group's own frames"}}
}
