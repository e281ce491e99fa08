package tui

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/desk/browse"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
)

// forksScreen shows a run and its forks as a tree.
type forksScreen struct {
	id   string
	tree *browse.ForkTree
	at   int // the line of the cursor
	list pane
}

// A treeRead has a tree of forks.
type treeRead struct{ tree *browse.ForkTree }

func (s *forksScreen) load(m *model) tea.Cmd {
	return m.read.poll("tree "+s.id, func(ctx context.Context, from *browse.Reader) (tea.Msg, error) {
		tree, err := from.ForkTree(ctx, s.id)
		return treeRead{tree}, err
	})
}

func (s *forksScreen) update(_ *model, msg tea.Msg) tea.Cmd {
	if msg, ok := msg.(treeRead); ok && msg.tree.Root == s.id {
		s.tree = msg.tree
		s.at = max(min(s.at, len(s.tree.Lines)-1), 0)
	}
	return nil
}

func (s *forksScreen) press(m *model, key string) (tea.Cmd, bool) {
	if s.tree == nil {
		return nil, false
	}
	switch key {
	case "enter", "l", "right":
		l := s.tree.Lines[s.at]
		return m.open(newRunScreen(l.Run, l.To)), true
	}
	by := rowsOf(key, m.height/2)
	s.at = moved(s.at, by, len(s.tree.Lines))
	return nil, by != 0
}

func (s *forksScreen) draw(m *model, width, height int) []string {
	head := say(m.bold, " Forks of "+safe(s.id))
	if s.tree != nil {
		head = head.add(m.none, "   "+plain.Count(s.tree.Runs, "run")).atRight(m.dim, "newest last ")
	}
	if s.tree == nil {
		return fill([]string{head.draw(width, m.Dots), m.ruleLine(width)}, width, height, m)
	}
	row := func(i int, chosen bool) line { return m.marked(s.line(m, s.tree.Lines[i]), chosen) }
	below := []line{say(m.dim, " $ git smithers timeline "+safe(s.id)+" --tree")}
	return m.listPage([]line{head}, &s.list, s.at, len(s.tree.Lines), row, below, width, height)
}

// line returns the line of a stretch of frames, or of a fork.
func (s *forksScreen) line(m *model, l browse.TreeLine) line {
	sign, word, style := m.Run(snapshot.RunStatus(l.Status), l.Stale)
	ln := say(m.dim, strings.Repeat(m.Bar+" ", l.Depth))
	frames := fmt.Sprintf("%d%s%d", l.From, map[bool]string{true: "-", false: "–"}[m.ascii], l.To)
	if l.From == l.To {
		frames = strconv.FormatInt(l.To, 10)
	}
	if l.Fork {
		name := safe(l.Name)
		ln = ln.add(m.dim, m.Branch+m.rule).add(m.style(style), sign+" ").add(m.bold, pad(name, 17)).add(m.none, pad(word, 17)+" ").add(m.dim, safe(l.Says))
	} else {
		mark := m.Running
		tone := m.dim
		if l.Tip {
			mark, tone = sign, m.style(style)
		}
		if l.Depth == 0 && l.From == 0 && l.To == 0 {
			frames = s.id + ":0"
		}
		ln = ln.add(tone, mark+" ").add(m.none, pad(safe(frames), 17)).add(m.none, safe(l.Says))
	}
	return ln.atRight(m.dim, " "+display.Took(max(l.AtMs, 0))+" ")
}

func (*forksScreen) keys(*model) []hint { return []hint{{"⏎", "open"}, {"↑↓", "move"}} }
