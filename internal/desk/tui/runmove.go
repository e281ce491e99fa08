package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"
)

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

// nothingThere is the note of a jump that finds nothing.
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

// setFind looks for a text in the tab, and moves to the first line that has it.
func (s *runScreen) setFind(m *model, text string) {
	s.find = text
	s.findNext(m, 0)
}

// findNext moves the text of the tab to the next line that has what was looked for, at least by lines from the first that is shown.
func (s *runScreen) findNext(m *model, by int) {
	if i, ok := m.findFrom(s.find, s.text.top+by, len(s.text.lines), func(i int) string { return s.text.lines[i].text() }); ok {
		s.text.top = i
	}
}
