package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"
)

// press handles a key: those that move the text of the tab come first.
func (s *runScreen) press(m *model, key string) (tea.Cmd, bool) {
	if s.pressText(m, key) {
		return nil, true
	}
	switch key {
	case "j", "down":
		return s.moveStep(m, 1), true
	case "k", "up":
		return s.moveStep(m, -1), true
	case "l", "right":
		return s.goTo(m, s.frame+1), true
	case "h", "left":
		return s.goTo(m, s.frame-1), true
	case "g", "home":
		return s.goTo(m, 0), true
	case "G", "end":
		cmd := s.goTo(m, 1<<30)
		s.follow = true
		return cmd, true
	case "[":
		return s.goToChange(m, -1), true
	case "]":
		return s.goToChange(m, 1), true
	case "n":
		return s.goToFailure(m, 1), true
	case "N":
		return s.goToFailure(m, -1), true
	case "1", "2", "3", "4", "5":
		s.tab = int(key[0] - '1')
		s.text.top = 0
		return s.readAll(m), true
	case "tab":
		s.inside = !s.inside
		return nil, true
	case "enter":
		s.inside = true
		return nil, true
	case "F":
		s.follow = !s.follow
		return s.load(m), true
	case "{", "}":
		return s.jump(m, map[string]int{"{": -1, "}": 1}[key]), true
	case "b":
		return s.blame(m), true
	case "c":
		return s.compare(m), true
	case "m":
		return s.setMark(m), true
	case "/":
		s.inside = true
		m.over = newPrompt(m, "/", s.find)
		return nil, true
	case "T":
		if s.run != nil {
			return m.open(&forksScreen{id: s.run.Row.ID}), true
		}
	}
	return s.act(m, key)
}

// pressText handles the keys that move the text of the tab.
func (s *runScreen) pressText(m *model, key string) bool {
	page := s.height(m) - 1
	by := rowsOf(key, page)
	if key == "space" {
		by = page
	}
	if by != 0 && (s.inside || slices.Contains([]string{"pgdown", "ctrl+d", "space", "pgup", "ctrl+u"}, key)) {
		s.text.top += by
		return true
	}
	switch {
	case s.inside && key == "n" && s.find != "":
		s.findNext(m, 1)
	case s.inside && key == "esc":
		s.inside = false
	default:
		return false
	}
	return true
}
