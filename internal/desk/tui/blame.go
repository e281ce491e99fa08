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
	if s.run == nil || len(s.run.Shown) == 0 {
		return nil
	}
	frame := s.frames[s.pairAt(s.frame)]
	if frame == nil {
		return nil
	}
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
		s.move(0)
	}
	return nil
}

func (s *blameScreen) press(m *model, key string) (tea.Cmd, bool) {
	const far = 1 << 30
	switch key {
	case "j", "down":
		s.move(1)
	case "k", "up":
		s.move(-1)
	case "pgdown", "ctrl+d", "space":
		s.move(m.height / 2)
	case "pgup", "ctrl+u":
		s.move(-m.height / 2)
	case "g", "home":
		s.move(-far)
	case "G", "end":
		s.move(far)
	case "n":
		s.findNext(m, 1)
	case "/":
		m.over = newPrompt(m, "/", s.find)
	case "{", "}":
		return s.goToFile(m, map[string]int{"{": -1, "}": 1}[key]), true
	case "enter":
		return s.openLine(m), true
	case "y":
		if by := s.writer(); by != nil {
			return m.copy(whoText(by)), true
		}
	case "Y":
		return m.copy(fault.CommandLine(fault.Program, s.command(m)...)), true
	case "esc", "q", "backspace":
		s.stop()
		return nil, false
	default:
		return nil, false
	}
	return nil, true
}

// move moves the cursor.
func (s *blameScreen) move(by int) { s.row = max(min(s.row+by, len(s.lines)-1), 0) }

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
	if s.find == "" {
		return
	}
	for i := s.row + by; i < len(s.lines); i++ {
		if strings.Contains(strings.ToLower(s.lines[i].Text), strings.ToLower(s.find)) {
			s.row = i
			return
		}
	}
	m.note = "not found below: " + safe(s.find)
}

// writer returns who wrote the line of the cursor, or nil.
func (s *blameScreen) writer() *blame.Writer {
	if s.row >= len(s.lines) {
		return nil
	}
	return s.lines[s.row].By
}

// openLine opens the run of the line of the cursor at the frame that wrote the line.
func (s *blameScreen) openLine(m *model) tea.Cmd {
	by := s.writer()
	switch {
	case by == nil:
	case by.Kind == blame.Frame:
		run := newRunScreen(by.Run, *by.Frame)
		run.tab = tabCode // a session shows its conversation
		return m.open(run)
	case by.Kind == blame.Start:
		m.note = "nobody knows who wrote this line: " + safe(by.Run) + " found it when it began"
	default:
		m.note = "no run wrote this line: commit " + display.ShortID(by.Commit) + " of " + safe(plain.OneLine(by.Author)) + " did"
	}
	return nil
}

// command returns the command that prints the file with who wrote it.
func (s *blameScreen) command(m *model) []string {
	file := s.files[s.file]
	path := file.path // from the folder of the view
	if from, err := filepath.Rel(m.o.Terminal.Dir, filepath.Join(m.read.reader.Store.Workspace().Root, path)); err == nil {
		path = from
	}
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	args := []string{"blame", path, s.at.String()}
	if file.worktree != "" {
		args = append(args, "--worktree="+file.worktree)
	}
	return args
}

func (s *blameScreen) draw(m *model, width, height int) []string {
	file := s.files[s.file]
	head := say(m.bold, " Blame").add(m.none, "  "+safe(file.path)).add(m.dim, "  at "+safe(s.at.String()))
	if file.worktree != "" {
		head = head.add(m.dim, "  worktree of "+safe(file.worktree))
	}
	if len(s.files) > 1 {
		head = head.atRight(m.dim, fmt.Sprintf(" file %d of %d ", s.file+1, len(s.files)))
	}
	out := []string{head.draw(width, m.Dots), m.ruleLine(width)}
	var below []line
	if height >= 12 {
		below = append(s.about(m), say(m.dim, " $ "+safe(fault.CommandLine(fault.Program, s.command(m)...))))
	}
	listed := max(height-len(out)-len(below)-1, 1)
	s.list.lines = make([]line, len(s.lines))
	s.list.keep(s.row, listed)
	for i := s.list.top; i < min(s.list.top+listed, len(s.lines)); i++ {
		s.list.lines[i] = s.line(m, i, width)
	}
	if len(s.lines) == 0 {
		s.list.lines = []line{say(m.dim, " "+s.state)}
	}
	out = append(out, s.list.draw(width, listed, m.Dots)...)
	if len(below) > 0 {
		out = append(out, m.ruleLine(width))
	}
	for _, ln := range below {
		out = append(out, ln.draw(width, m.Dots))
	}
	return fill(out, width, height, m)
}

// line returns a line of the file. Who wrote it stands beside the first of several lines.
func (s *blameScreen) line(m *model, i, width int) line {
	who, task := 17, 14
	switch {
	case width >= 110:
		who, task = 30, 24
	case width < 80:
		task = 0
	}
	l := s.lines[i]
	ln := say(m.accent, "   ")
	if i == s.row {
		ln = say(m.accent, " "+m.cursor+" ")
	}
	if i > s.list.top && s.lines[i-1].By == l.By {
		ln = ln.add(m.none, blank(who+task))
	} else {
		style := m.none
		if l.By.Kind != blame.Frame {
			style = m.dim
		}
		ln = ln.add(style, pad(shortWho(l.By, who-1), who))
		if task > 0 {
			ln = ln.add(style, pad(plain.Shorten(safe(partText(l.By)+" "+plain.Words(l.By.Prompt)), task-1), task))
		}
	}
	digits := len(strconv.Itoa(len(s.lines)))
	ln = ln.add(m.dim, padLeft(strconv.Itoa(i+1), digits)+" "+m.bar).add(m.none, safe(plain.Cut(l.Text, maxSaid)))
	if i == s.row {
		ln = ln.whole(m.back)
	}
	return ln
}

// whoText returns the address of the frame, or the commit, that wrote a line.
func whoText(by *blame.Writer) string {
	if by.Run == "" {
		return display.ShortID(by.Commit)
	}
	return by.Address().String()
}

// shortWho returns whoText, safe to show, with at most width columns: the number of the frame is whole.
func shortWho(by *blame.Writer, width int) string {
	who := safe(whoText(by))
	if at := strings.LastIndexByte(who, ':'); at >= 0 {
		return plain.Shorten(who[:at], max(width-len(who)+at, 1)) + who[at:]
	}
	return who
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
	a := by.Attempts[0]
	name := a.NodeID
	if a.Iteration > 0 {
		name = snapshot.Key(a.NodeID, a.Iteration)
	}
	if more := len(by.Attempts) - 1; more > 0 {
		name += " +" + strconv.Itoa(more)
	}
	return name
}

// about returns two lines about who wrote the line of the cursor.
func (s *blameScreen) about(m *model) []line {
	by := s.writer()
	if by == nil {
		return []line{{}, {}}
	}
	head := say(m.bold, " "+safe(whoText(by))).add(m.none, "  "+safe(plain.OneLine(partText(by))))
	said := say(m.none, " "+safe(plain.OneLine(by.Subject)))
	switch {
	case by.Turn > 0:
		said = say(m.dim, " you ").add(m.none, " "+safe(plain.Words(by.Prompt)))
		head = head.add(m.dim, "  "+safe(toolsText(by)))
	case by.Since != nil && by.Kind == blame.Frame:
		said = said.add(m.dim, fmt.Sprintf("  or an attempt since frame %d, whose files were not captured", *by.Since))
	case len(by.NotHere) > 0:
		said = said.add(m.dim, "  landed "+safe(by.NotHere[0])+", which is not here")
	}
	if landed := s.lines[s.row].Landed; landed != "" {
		head = head.add(m.dim, "  landed by "+display.ShortID(landed))
	}
	return []line{head.atRight(m.dim, " "+display.Moment(m.now(), by.AtMs, "15:04")+" "), said}
}

// toolsText returns the tools after whose calls a frame was made.
func toolsText(by *blame.Writer) string {
	var tools []string
	for _, c := range by.Calls {
		if c.Tool != "" {
			tools = append(tools, c.Tool)
		}
	}
	return plain.Shorten(strings.Join(tools, ", "), 40)
}

func (*blameScreen) keys(*model) []hint {
	return []hint{{"⏎", "open its turn"}, {"↑↓", "line"}, {"{ }", "file"}, {"/", "find"}, {"y", "copy"}}
}
