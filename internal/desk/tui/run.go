package tui

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	tea "charm.land/bubbletea/v2"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/desk/browse"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
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

// A runRead has the run of a screen. Another screen may show the run at another frame.
type runRead struct {
	of  *runScreen
	run *browse.Run
}

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
	read := m.read.poll(fmt.Sprintf("run %p", s), func(ctx context.Context, from *browse.Reader) (tea.Msg, error) {
		run, err := from.RunSince(ctx, id, near, had)
		return runRead{s, run}, err
	})
	if a := s.attempt(); s.tab == tabLog && a != nil && a.State == snapshot.AttemptInProgress {
		return tea.Batch(read, s.readLog(m))
	}
	return read
}

func (s *runScreen) update(m *model, msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case runRead:
		if msg.run == nil || msg.of != s {
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
	if first && !asked && run.Group {
		g := &groupScreen{id: run.Row.ID}
		m.screens[slices.Index(m.screens, screen(s))] = g
		return g.load(m)
	}
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
			if s.tab = tabLog; !asked { // else the turn of the frame is shown from its prompt on
				s.text.top = 1 << 30
			}
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
	return m.compare(runs, "", "the run has no forks to compare with")
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
