package tui

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/git-smithers/git-smithers/internal/app/blame"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/desk/browse"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// blameScreen shows a file at a frame, with who wrote each line.
type blameScreen struct {
	at    timeline.Address
	files []blamedFile // those that the frame changed
	file  int          // the one that is shown
	lines []browse.BlameLine
	state string             // what is shown until there are lines
	stop  context.CancelFunc // ends the reading of the file; nil if it is not asked for yet
	row   int                // the line of the cursor
	find  string
	list  pane
}

// A blamedFile is a file, and the task whose own worktree has it, or "".
type blamedFile struct{ worktree, path string }

// A blameRead has the lines of a file.
type blameRead struct {
	of    *blameScreen
	file  int
	lines []browse.BlameLine
	err   error
}

// blame opens the text files that the frame of the cursor changed, at the line that the text of the tab shows first.
func (s *runScreen) blame(m *model) tea.Cmd {
	if s.run == nil || len(s.run.Shown) == 0 || s.frames[s.pairAt(s.frame)] == nil {
		return nil
	}
	frame := s.frames[s.pairAt(s.frame)]
	opened, heads := &blameScreen{at: frame.At}, 0
	for i, ln := range s.text.lines {
		if ln.head {
			heads++
		}
		if i >= s.text.top && ln.at > 0 {
			opened.row = ln.at - 1
			break
		}
	}
	for _, code := range frame.Code {
		for _, f := range code.Changes {
			if !f.Binary && strings.HasPrefix(f.ToMode, "100") {
				if heads > 0 {
					opened.file = len(opened.files)
				}
				opened.files = append(opened.files, blamedFile{code.Worktree, f.Path})
			}
			heads--
		}
	}
	if len(opened.files) == 0 {
		m.note = "this frame left no changed text file: [ and ] go to frames that changed code"
		return nil
	}
	return m.open(opened)
}

func (s *blameScreen) load(m *model) tea.Cmd {
	if s.stop != nil {
		return nil // what frames and commits wrote does not change
	}
	ctx, stop := context.WithCancel(m.ctx)
	s.stop, s.lines, s.state = stop, nil, "reading"
	at, number, file := s.at, s.file, s.files[s.file]
	return m.read.do("blame", func(_ context.Context, from *browse.Reader) (tea.Msg, error) {
		lines, err := from.Blame(ctx, at, file.worktree, file.path)
		if ctx.Err() != nil {
			return nil, nil //nolint:nilnil,nilerr // nobody looks at the file any more
		}
		return blameRead{s, number, lines, err}, nil
	})
}

func (s *blameScreen) update(_ *model, msg tea.Msg) tea.Cmd {
	if msg, ok := msg.(blameRead); ok && msg.of == s && msg.file == s.file {
		s.lines, s.state = msg.lines, "the file is empty"
		if msg.err != nil {
			s.state = errorText(msg.err)
		}
		s.row = moved(s.row, 0, len(s.lines))
	}
	return nil
}

func (s *blameScreen) press(m *model, key string) (tea.Cmd, bool) {
	switch by := rowsOf(key, m.height/2); key {
	case "n":
		s.findNext(m, 1)
	case "/":
		m.over = newPrompt(m, "/", s.find)
	case "{", "}":
		return s.goToFile(m, map[string]int{"{": -1, "}": 1}[key]), true
	case "enter":
		return s.openLine(m), true
	case "esc", "q", "backspace":
		s.stop()
		return nil, false
	default:
		s.row = moved(s.row, by, len(s.lines))
		return nil, by != 0
	}
	return nil, true
}

// goToFile shows the next file of the frame in a direction.
func (s *blameScreen) goToFile(m *model, by int) tea.Cmd {
	next := s.file + by
	if next < 0 || next >= len(s.files) {
		m.note = nothingThere
		return nil
	}
	s.stop()
	s.file, s.row, s.stop = next, 0, nil
	return s.load(m)
}

// setFind looks for a text in the file, from the cursor on.
func (s *blameScreen) setFind(m *model, text string) {
	s.find = text
	s.findNext(m, 0)
}

// findNext moves the cursor to the next line that has what was looked for, at least by lines further.
func (s *blameScreen) findNext(m *model, by int) {
	if i, ok := m.findFrom(s.find, s.row+by, len(s.lines), func(i int) string { return s.lines[i].Text }); ok {
		s.row = i
	}
}

// openLine opens the run of the line of the cursor at the frame that wrote the line.
func (s *blameScreen) openLine(m *model) tea.Cmd {
	if len(s.lines) == 0 {
		return nil
	}
	switch by := s.lines[s.row].By; by.Kind {
	case blame.Frame:
		run := newRunScreen(by.Run, *by.Frame)
		run.tab = tabCode // a session shows its conversation
		return m.open(run)
	case blame.Start:
		m.note = "nobody knows who wrote this line: " + safe(by.Run) + " found it when it began"
	default:
		m.note = "no run wrote this line: commit " + display.ShortID(by.Commit) + " of " + safe(plain.OneLine(by.Author)) + " did"
	}
	return nil
}

func (s *blameScreen) draw(m *model, width, height int) []string {
	file := s.files[s.file]
	head := say(m.bold, " Blame").add(m.none, "  "+safe(file.path)).add(m.dim, "  at "+safe(s.at.String()))
	path := file.path // from the folder of the view
	if from, err := filepath.Rel(m.o.Terminal.Dir, filepath.Join(m.read.reader.Store.Workspace().Root, path)); err == nil {
		path = from
	}
	command := []string{"blame", path, s.at.String()}
	if file.worktree != "" {
		head, command = head.add(m.dim, "  worktree of "+safe(file.worktree)), append(command, "--worktree="+file.worktree)
	}
	head = head.atRight(m.dim, fmt.Sprintf(" file %d of %d ", s.file+1, len(s.files)))
	row := func(i int, chosen bool) line { return m.marked(s.line(m, i, width), chosen) }
	if len(s.lines) == 0 {
		row = func(int, bool) line { return say(m.dim, " "+s.state) }
	}
	below := append(s.about(m), say(m.dim, " $ "+safe(fault.CommandLine(fault.Program, command...))))
	return m.listPage([]line{head}, &s.list, s.row, max(len(s.lines), 1), row, below, width, height)
}

// line returns a line of the file. Who wrote it stands beside the first of several lines.
func (s *blameScreen) line(m *model, i, width int) line {
	who, part := 17, 14
	if width >= 110 {
		who, part = 30, 24
	}
	l, style := s.lines[i], m.none
	if l.By.Kind != blame.Frame {
		style = m.dim
	}
	beside := pad(whoText(l.By, who-1), who)
	if width >= 80 {
		beside += pad(plain.Shorten(safe(partText(l.By)+" "+plain.Words(l.By.Prompt)), part-1), part)
	}
	if i > s.list.top && s.lines[i-1].By == l.By {
		beside = blank(lineWidth(beside))
	}
	number := padLeft(strconv.Itoa(i+1), len(strconv.Itoa(len(s.lines))))
	return say(style, beside).add(m.dim, number+" "+m.bar).add(m.none, safe(plain.Cut(l.Text, maxSaid)))
}

// whoText returns the address of the frame, or the commit, that wrote a line, in at most width columns: the number of the frame is whole.
func whoText(by *blame.Writer, width int) string {
	if by.Run == "" {
		return display.ShortID(by.Commit)
	}
	frame := ":" + strconv.FormatInt(*by.Frame, 10)
	return plain.Shorten(safe(by.Run), max(width-len(frame), 1)) + frame
}

// partText returns the turn or the attempt that wrote a line, or the author of its commit.
func partText(by *blame.Writer) string {
	switch {
	case by.Kind == blame.Start:
		return "before the run"
	case by.Run == "":
		return by.Author
	case by.Turn > 0:
		return "turn " + strconv.Itoa(by.Turn)
	case len(by.Attempts) == 0:
		return by.Subject
	}
	return strings.TrimSuffix(snapshot.Key(by.Attempts[0].NodeID, by.Attempts[0].Iteration), "::0")
}

// about returns two lines about who wrote the line of the cursor.
func (s *blameScreen) about(m *model) []line {
	if len(s.lines) == 0 {
		return []line{{}, {}}
	}
	l := s.lines[s.row]
	by := l.By
	head := say(m.bold, " "+whoText(by, 60)).add(m.none, "  "+safe(plain.OneLine(partText(by))))
	said := say(m.none, " "+safe(plain.OneLine(by.Subject)))
	switch {
	case by.Turn > 0:
		head = head.add(m.dim, "  "+safe(plain.OneLine(by.Subject)))
		said = say(m.dim, " you ").add(m.none, " "+safe(plain.Words(by.Prompt)))
	case by.Since != nil && by.Kind == blame.Frame:
		said = said.add(m.dim, fmt.Sprintf("  or an attempt since frame %d, whose files were not captured", *by.Since))
	case len(by.NotHere) > 0:
		said = said.add(m.dim, "  landed "+safe(by.NotHere[0])+", which is not here")
	}
	if l.Landed != "" {
		head = head.add(m.dim, "  landed by "+display.ShortID(l.Landed))
	}
	return []line{head.atRight(m.dim, " "+display.Moment(m.now(), by.AtMs, "15:04")+" "), said}
}

func (*blameScreen) keys(*model) []hint {
	return []hint{{"⏎", "open its turn"}, {"↑↓", "line"}, {"{ }", "file"}, {"/", "find"}}
}
