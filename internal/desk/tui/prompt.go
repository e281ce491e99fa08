package tui

import (
	"strings"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"github.com/git-smithers/git-smithers/timeline/fault"
)

// prompt is the line in which the user types: a filter after /, or a command of git smithers after a colon.
type prompt struct {
	sign  string
	input textinput.Model
}

// newPrompt returns a prompt with a sign and the text that it begins with.
func newPrompt(m *model, sign, text string) *prompt {
	input := textinput.New()
	input.Prompt = ""
	input.SetVirtualCursor(true)
	input.SetWidth(max(m.width-20, 10))
	input.SetValue(text)
	input.CursorEnd()
	input.Focus()
	return &prompt{sign, input}
}

func (*prompt) load(*model) tea.Cmd { return nil }

func (p *prompt) update(m *model, msg tea.Msg) (cmd tea.Cmd) {
	p.input, cmd = p.input.Update(msg)
	if s, ok := m.top().(finder); ok && p.sign == "/" {
		s.setFind(m, p.input.Value())
	}
	return cmd
}

func (p *prompt) press(m *model, key string) (tea.Cmd, bool) {
	switch key {
	case "esc":
		m.over = nil
		if s, ok := m.top().(finder); ok && p.sign == "/" {
			s.setFind(m, "")
		}
		return nil, true
	case "enter":
		m.over = nil
		if p.sign == "/" {
			return nil, true
		}
		words, err := splitWords(p.input.Value())
		if err != nil {
			m.note = err.Error()
			return nil, true
		}
		if len(words) == 0 {
			return nil, true
		}
		return m.runCommand(words), true
	}
	return nil, false
}

// A finder is a screen that / filters or searches.
type finder interface{ setFind(m *model, text string) }

func (p *prompt) draw(m *model, width, _ int) []string {
	name := p.sign
	if p.sign == ":" {
		name = "git smithers"
	}
	return []string{say(m.bold, " "+name+" ").draw(len(name)+2, "") + p.input.View() + blank(max(width-len(name)-2-p.input.Width()-1, 0))}
}

func (p *prompt) keys(*model) []hint {
	if p.sign == "/" {
		return []hint{{"⏎", "keep"}}
	}
	return []hint{{"⏎", "run"}}
}

// splitWords splits a command line into words: spaces part words, but not inside ' or ", and a backslash takes the next character as it is. No shell reads
// the line, so nothing else means anything.
func splitWords(text string) (words []string, err error) {
	var b strings.Builder
	begun, quote, escaped := false, rune(0), false
	for _, r := range text {
		switch {
		case escaped:
			b.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			begun, escaped = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			begun, quote = true, r
		case quote == 0 && r == ' ':
			if begun {
				words = append(words, b.String())
				b.Reset()
			}
			begun = false
		default:
			begun = true
			b.WriteRune(r)
		}
	}
	if quote != 0 || escaped {
		return nil, fault.New(fault.Usage, "the line ends inside a quote")
	}
	if begun {
		words = append(words, b.String())
	}
	return words, nil
}
