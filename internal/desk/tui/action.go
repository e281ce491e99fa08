package tui

import (
	"bytes"
	"context"
	"os/exec"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/git-smithers/git-smithers/internal/desk/browse"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// action is the dialog in front of a command that changes something: it shows what the command does and the command line that it stands
// for. What the command asks, it asks itself, at the terminal.
type action struct {
	title   string
	says    []string // what happens, a sentence a line
	args    []string // of git smithers
	preview []string // arguments of a command whose output shows what would happen; nil for none
	output  []string // of that command
}

// A previewed has the output of the command that shows what would happen.
type previewed struct {
	of     *action
	output []string
}

func (a *action) load(m *model) tea.Cmd {
	if a.preview == nil {
		return nil
	}
	program, dir, env := m.o.Program, m.o.Terminal.Dir, m.o.Terminal.Env
	return m.read.do("dry run", func(ctx context.Context, _ *browse.Reader) (tea.Msg, error) {
		cmd := exec.CommandContext(ctx, program, a.preview...) //nolint:gosec // our own program; the arguments are a list
		var out bytes.Buffer
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, &out, &out
		_ = cmd.Run() // what it says is the preview, also why it refuses
		return previewed{a, plain.Lines(plain.Uncolored(out.String()))}, nil
	})
}

func (a *action) update(_ *model, msg tea.Msg) tea.Cmd {
	if msg, ok := msg.(previewed); ok && msg.of == a {
		a.output = msg.output
	}
	return nil
}

func (a *action) press(m *model, key string) (tea.Cmd, bool) {
	switch key {
	case "enter":
		m.over = nil
		return m.runCommand(a.args), true
	case "e":
		m.over = newPrompt(m, ":", commandText(a.args))
		return nil, true
	case "y":
		return m.copy(fault.CommandLine(fault.Program, a.args...)), true
	}
	return nil, false
}

// commandText returns arguments as one types them.
func commandText(args []string) string {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = fault.Word(arg)
	}
	return strings.Join(words, " ")
}

func (a *action) draw(m *model, width, height int) []string {
	inner := max(min(width-4, 76), 20)
	var lines []line
	for _, s := range a.says {
		for _, part := range wrap(safe(s), inner-4) {
			lines = append(lines, say(m.none, " "+part))
		}
	}
	room := max(height-len(lines)-8, 1)
	for i, l := range a.output {
		if i == room {
			lines = append(lines, say(m.dim, "   "+plain.Count(len(a.output)-i, "more line")))
			break
		}
		lines = append(lines, say(m.dim, "   "+safe(l)))
	}
	lines = append(lines, line{})
	for i, part := range wrap(safe(fault.CommandLine(fault.Program, a.args...)), inner-6) {
		lines = append(lines, say(m.dim, map[bool]string{true: " $ ", false: "   "}[i == 0]).add(m.none, part))
	}
	lines = append(lines, line{}, say(m.bold, " "+m.keyName("⏎")+" ").add(m.dim, "run  ").add(m.bold, "e ").add(m.dim, "edit  ").add(m.bold, "y ").add(m.dim, "copy").atRight(m.bold, "esc ").atRight(m.dim, "back "))
	return box(m, a.title, lines, inner)
}

func (a *action) keys(*model) []hint {
	return []hint{{"⏎", "run"}, {"e", "edit"}, {"y", "copy"}}
}

// box returns lines in a box with a title.
func box(m *model, title string, lines []line, inner int) []string {
	corners := [4]string{"┌", "┐", "└", "┘"}
	if m.ascii {
		corners = [4]string{"+", "+", "+", "+"}
	}
	rule := func(n int) string { return strings.Repeat(m.rule, max(n, 0)) }
	head := " " + plain.Shorten(safe(title), inner-4) + " "
	out := []string{m.dim.Render(corners[0]+m.rule) + m.bold.Render(head) + m.dim.Render(rule(inner-1-lineWidth(head))+corners[1])}
	for _, ln := range lines {
		out = append(out, m.dim.Render(m.bar)+ln.draw(inner, m.Dots)+m.dim.Render(m.bar))
	}
	return append(out, m.dim.Render(corners[2]+rule(inner)+corners[3]))
}
