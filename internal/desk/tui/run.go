package tui

import (
	"context"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/desk/browse"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// The tabs of a run.
const (
	tabState = iota
	tabCode
	tabLog
	tabTries
	tabEvents
	tabs
)

// runScreen shows one run. It has one cursor: the frame. The step, the state, the code and the log follow it.
type runScreen struct {
	runCursor

	id     string
	wanted int64 // the frame to go to when its row is read; -1 for the newest or, later, for none
	follow bool  // the cursor stays at the newest frame
	tab    int
	inside bool // the keys move the text of the tab, not the steps
	steps  pane
	text   pane // of the tab

	log    string // of the chosen step
	logOf  string // the attempt whose log is shown
	events []browse.Event
	talk   []browse.Said // of a session
	find   string
}

// newRunScreen returns the screen of a run at a frame, or at the newest for -1.
func newRunScreen(id string, frame int64) *runScreen {
	return &runScreen{runCursor: runCursor{step: -1, mark: -1, frames: make(map[[2]int64]*browse.Frame)}, id: id, wanted: frame, follow: frame < 0}
}

// A runRead has a run.
type runRead struct{ run *browse.Run }

// A frameRead has a frame of a run.
type frameRead struct {
	run   string
	key   [2]int64
	frame *browse.Frame
}

// A logRead has the log of an attempt.
type logRead struct{ run, of, text string }

// An eventsRead has the events of a run.
type eventsRead struct {
	run    string
	events []browse.Event
}

func (s *runScreen) load(m *model) tea.Cmd {
	id, near, had := s.id, s.near(), s.run
	read := m.read.poll("run "+id, func(ctx context.Context, from *browse.Reader) (tea.Msg, error) {
		run, err := from.RunSince(ctx, id, near, had)
		return runRead{run}, err
	})
	if a := s.attempt(); s.tab == tabLog && a != nil && a.State == snapshot.AttemptInProgress {
		return tea.Batch(read, s.readLog(m))
	}
	return read
}

func (s *runScreen) update(m *model, msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case runRead:
		if msg.run == nil || s.run != nil && msg.run.Row.ID != s.run.Row.ID {
			return nil
		}
		return s.take(m, msg.run)
	case frameRead:
		if s.run != nil && msg.run == s.run.Row.ID {
			s.frames[msg.key] = msg.frame
		}
	case logRead:
		if s.run != nil && msg.run == s.run.Row.ID && msg.of == s.logKey() {
			atEnd := s.text.top >= len(s.text.lines)-s.height(m)
			s.log, s.logOf = msg.text, msg.of
			if a := s.attempt(); s.tab == tabLog && s.follow && atEnd && a.State == snapshot.AttemptInProgress {
				s.text.top = 1 << 30
			}
		}
	case talkRead:
		if s.run != nil && msg.run == s.run.Row.ID {
			s.talk = msg.talk
		}
	case eventsRead:
		if s.run != nil && msg.run == s.run.Row.ID {
			s.events = msg.events
		}
	}
	return nil
}

// height returns how many lines the text of the tab may have.
func (s *runScreen) height(m *model) int { return max(m.height-8, 1) }

// take shows a run that was read anew. Nothing that is being read moves: the cursor stays at its frame, unless it follows the newest.
func (s *runScreen) take(m *model, run *browse.Run) tea.Cmd {
	first, asked, at := s.run == nil, s.wanted >= 0, s.near()
	place := len(run.Shown) - 1
	if at >= 0 {
		if place = run.Place(at); !first && run.Gap(place-1, place) && run.Shown[place].FrameNo != at {
			return s.load(m) // the frames are those around a place that the cursor has left
		}
	}
	s.run, s.id, s.wanted, s.frame = run, run.Row.ID, -1, max(place, 0)
	if s.step >= len(run.Steps) {
		s.step = -1
	}
	switch {
	case first && run.Failure != nil && run.Failure.Step != nil && !asked:
		s.step = slices.IndexFunc(run.Steps, func(st summary.Step) bool {
			return st.NodeID == run.Failure.Step.NodeID && st.Iteration == run.Failure.Step.Iteration
		})
		s.tab = tabLog
	case first || s.follow:
		s.chooseStep()
		if step := s.chosen(); first && (run.Session || !asked && step != nil && step.State == snapshot.NodeInProgress) {
			s.tab, s.text.top = tabLog, 1<<30
		}
	}
	return s.readAll(m)
}

// near returns the number of the frame around which frames are to be read: -1 for the newest.
func (s *runScreen) near() int64 {
	switch {
	case s.wanted >= 0:
		return s.wanted
	case s.follow || s.run == nil || len(s.run.Shown) == 0:
		return -1
	}
	return s.run.Shown[s.frame].FrameNo
}

// readAll reads what the tab shows at the cursor.
func (s *runScreen) readAll(m *model) tea.Cmd {
	if s.run == nil || len(s.run.Shown) == 0 {
		return nil
	}
	run, cmds := s.run, []tea.Cmd{s.readFrame(m, "frame", s.frame)}
	switch s.tab {
	case tabLog:
		if run.Session {
			cmds = append(cmds, m.read.do("talk", func(_ context.Context, from *browse.Reader) (tea.Msg, error) {
				talk, err := from.Talk(run)
				return talkRead{run.Row.ID, talk}, err
			}))
			break
		}
		cmds = append(cmds, s.readLog(m))
	case tabEvents:
		cmds = append(cmds, m.read.do("events", func(ctx context.Context, from *browse.Reader) (tea.Msg, error) {
			events, err := from.Events(ctx, run.Row.ID)
			return eventsRead{run.Row.ID, events}, err
		}))
	}
	for i, kind := range map[int]string{s.frame - 1: "frame before", s.frame + 1: "frame after"} {
		if i >= 0 && i < len(run.Shown) {
			cmds = append(cmds, s.readFrame(m, kind, i))
		}
	}
	return tea.Batch(cmds...)
}

// readLog reads the log of the chosen attempt.
func (s *runScreen) readLog(m *model) tea.Cmd {
	run, a, of := s.run, s.attempt(), s.logKey()
	if a == nil {
		return nil
	}
	return m.read.do("log", func(_ context.Context, from *browse.Reader) (tea.Msg, error) {
		text, _, err := from.Log(run, a)
		return logRead{run.Row.ID, of, text}, err
	})
}

// readFrame reads a frame, unless it is known.
func (s *runScreen) readFrame(m *model, kind string, i int) tea.Cmd {
	key := s.pairAt(i)
	if s.frames[key] != nil {
		return nil
	}
	id := s.run.Row.ID
	return m.read.do(kind, func(ctx context.Context, from *browse.Reader) (tea.Msg, error) {
		var against timeline.Address
		if key[0] >= 0 {
			against = timeline.Address{Run: id, Frame: key[0]}
		}
		frame, err := from.Frame(ctx, against, timeline.Address{Run: id, Frame: key[1]})
		return frameRead{id, key, frame}, err
	})
}

// goTo moves the cursor to the frame at a position of run.Shown.
func (s *runScreen) goTo(m *model, i int) tea.Cmd {
	if s.run == nil || len(s.run.Shown) == 0 {
		return nil
	}
	i = max(min(i, len(s.run.Shown)-1), 0)
	if s.run.Gap(min(i, s.frame), max(i, s.frame)) && (i == s.frame-1 || i == s.frame+1) {
		return s.load(m) // the frame beside is not read yet
	}
	s.frame, s.follow, s.text.top = i, false, 0
	s.chooseStep()
	if !s.run.Covers(s.near()) {
		return tea.Batch(s.readAll(m), s.load(m))
	}
	return s.readAll(m)
}

// seek moves the cursor to the frame with a number, and reports whether it did. Else load moves it there.
func (s *runScreen) seek(number int64) bool {
	s.follow = false
	i := s.run.Place(number)
	if i < 0 || s.run.Shown[i].FrameNo != number {
		s.wanted = number
		return false
	}
	s.frame = i
	return true
}

// goToChange moves the cursor to the next frame in a direction that changed files.
func (s *runScreen) goToChange(m *model, by int) tea.Cmd {
	if s.run == nil {
		return nil
	}
	for i := s.frame + by; i >= 0 && i < len(s.run.Shown); i += by {
		if s.run.Gap(min(i, i-by), max(i, i-by)) {
			m.note = "none so far; the key again looks further"
			return s.goTo(m, i-by)
		}
		if s.changedCode(i) {
			return s.goTo(m, i)
		}
	}
	m.note = nothingThere
	return nil
}

// nothingThere says that a jump has no place to go to.
const nothingThere = "there is none in this direction"

// goToFailure moves the cursor to the next frame in a direction at which an attempt failed.
func (s *runScreen) goToFailure(m *model, by int64) tea.Cmd {
	if s.run == nil || len(s.run.Shown) == 0 {
		return nil
	}
	next, at := int64(-1), s.run.Shown[s.frame].FrameNo
	for number := range s.failures() {
		if (number-at)*by > 0 && (next < 0 || (next-number)*by > 0) {
			next = number
		}
	}
	switch {
	case next < 0:
		m.note = nothingThere
		return nil
	case !s.seek(next):
		return s.load(m)
	}
	return s.goTo(m, s.frame)
}

// moveStep chooses another step, and moves the cursor to the frame at which its last attempt ended.
func (s *runScreen) moveStep(m *model, by int) tea.Cmd {
	if s.run == nil {
		return nil
	}
	if len(s.run.Steps) == 0 {
		return s.goTo(m, s.frame+by)
	}
	rows := s.stepOrder()
	at := slices.Index(rows, s.step) + by
	s.step = rows[max(min(at, len(rows)-1), 0)]
	s.text.top = 0
	if last := s.chosen().Last(); last != nil && last.At != nil {
		if !s.seek(*last.At) {
			return s.load(m)
		}
	}
	return s.readAll(m)
}

// jump moves to the next turn of a session in a direction, or to the next file of the patch.
func (s *runScreen) jump(m *model, by int) tea.Cmd {
	if s.run != nil && s.run.Session {
		return s.moveStep(m, by)
	}
	for i := s.text.top + by; i >= 0 && i < len(s.text.lines); i += by {
		if s.text.lines[i].head {
			s.text.top = i
			return nil
		}
	}
	m.note = nothingThere
	return nil
}

// compare opens the comparison of the run with its parent and its forks.
func (s *runScreen) compare(m *model) tea.Cmd {
	if s.run == nil {
		return nil
	}
	runs := []string{s.run.Row.ID}
	if s.run.Origin != nil && !s.run.Origin.Elsewhere {
		runs = append(runs, s.run.Origin.At.Run)
	}
	for i := range s.run.Forked {
		runs = append(runs, s.run.Forked[i].RunID)
	}
	if len(runs) < 2 {
		m.note = "the run has no forks to compare with"
		return nil
	}
	return m.open(&compareScreen{runs: runs[:min(len(runs), maxCompared)]})
}

// setMark marks the frame of the cursor, or takes the mark away.
func (s *runScreen) setMark(m *model) tea.Cmd {
	if s.run == nil || len(s.run.Shown) == 0 {
		return nil
	}
	if number := s.run.Shown[s.frame].FrameNo; s.mark == number {
		s.mark = -1
	} else {
		s.mark = number
	}
	return s.readAll(m)
}

// command returns the command that says what the tab shows.
func (s *runScreen) command() []string {
	id := s.run.Row.ID
	switch s.tab {
	case tabLog:
		if a := s.attempt(); a != nil {
			if s.run.Session {
				return []string{"logs", id}
			}
			args := []string{"logs", id, a.NodeID}
			if a.Iteration > 0 {
				args = append(args, "--iteration", strconv.Itoa(a.Iteration))
			}
			return append(args, "--attempt", strconv.Itoa(a.Number))
		}
	case tabTries:
		return []string{"show", s.address(), "--attempts"}
	case tabEvents:
		return []string{"events", id}
	}
	if len(s.run.Shown) == 0 {
		return []string{"show", id}
	}
	args := []string{"diff"}
	if s.tab == tabCode {
		args = append(args, "--code")
	}
	if pair := s.pairAt(s.frame); pair[0] >= 0 {
		args = append(args, timeline.Address{Run: id, Frame: pair[0]}.String())
	}
	return append(args, s.address())
}

func (s *runScreen) keys(m *model) []hint {
	if s.inside {
		return []hint{{"↑↓", "scroll"}, {"tab", "steps"}, {"1…5", "tabs"}, {"←→", "frame"}}
	}
	hints := []hint{{"←→", "frame"}}
	if m.width >= 110 {
		hints = append(hints, hint{"[ ]", "code change"}, hint{"n N", "failure"})
	}
	hints = append(hints, hint{"↑↓", "step"}, hint{"tab", "pane"})
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

// setFind looks for a text in the tab, and moves to the first line that has it.
func (s *runScreen) setFind(m *model, text string) {
	s.find = text
	s.findNext(m, 0)
}

// findNext moves the text of the tab to the next line that has what was looked for, at least by lines from the first that is shown.
func (s *runScreen) findNext(m *model, by int) {
	if s.find == "" {
		return
	}
	for i := max(s.text.top+by, 0); i < len(s.text.lines); i++ {
		if strings.Contains(strings.ToLower(s.text.lines[i].text()), strings.ToLower(s.find)) {
			s.text.top = i
			return
		}
	}
	m.note = "not found below: " + safe(s.find)
}

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
