// Package tui is git smithers tui: a view of runs in a terminal that one leaves open. It shows what package browse reads. What changes
// something is a command of git smithers, which the view shows, and then runs at the same terminal: with the same questions.
package tui

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/desk/browse"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Options say what the view shows and how.
type Options struct {
	Terminal *term.Terminal // the environment, the folder and the clock
	In       io.Reader      // the terminal
	Out      io.Writer
	Program  string        // the path of git-smithers, which carries out what changes something
	At       string        // the run or frame that is shown first; "" shows the runs
	Poll     time.Duration // how often the view looks for something new; 0 is a second
}

// Run shows the view until the user leaves it. The codes are those of timeline.Open, and of an address that does not exist.
func Run(ctx context.Context, o Options) error {
	t := o.Terminal
	var warnings []string
	store, err := timeline.Open(ctx, timeline.Options{Dir: t.Dir, Env: t.Env, Now: t.Now, Warn: func(err error) { warnings = append(warnings, err.Error()) }})
	if err != nil {
		return err
	}
	m, err := newModel(ctx, o, &browse.Reader{Store: store, Now: t.Now, CountFor: 200 * time.Millisecond})
	if err == nil {
		options := []tea.ProgramOption{tea.WithContext(ctx), tea.WithInput(o.In), tea.WithOutput(o.Out), tea.WithEnvironment(t.Env), tea.WithFPS(120)}
		if t.Painter(ctx).Paint(term.Bold, "x") == "x" { // by the rules of all commands
			options = append(options, tea.WithColorProfile(colorprofile.Ascii))
		}
		_, err = tea.NewProgram(m, options...).Run()
	}
	if ctx.Err() != nil || errors.Is(err, tea.ErrInterrupted) {
		err = context.Cause(ctx)
	}
	return errors.Join(err, store.Close()) //nolint:contextcheck // closing must finish
}

// A screen is one of the screens of the view.
type screen interface {
	// load returns what reads the screen's data anew; nil for nothing.
	load(m *model) tea.Cmd
	// update takes a message of load's, or of the screen's own. keys are handled by press.
	update(m *model, msg tea.Msg) tea.Cmd
	// press handles a key, and reports whether it has done so.
	press(m *model, key string) (cmd tea.Cmd, done bool)
	// draw returns exactly height lines of width columns, without the last line of the screen.
	draw(m *model, width, height int) []string
	// keys returns what the last line says.
	keys(m *model) []hint
}

// A hint says what a key does.
type hint struct{ key, does string }

// model is the state of the view.
type model struct {
	look

	ctx           context.Context //nolint:containedctx // of the program
	o             Options
	read          *reading
	screens       []screen
	over          screen // a dialog over the screen; nil for none
	note          string // what the last line says once; "" for the keys
	width, height int
}

// newModel returns the view as it opens.
func newModel(ctx context.Context, o Options, reader *browse.Reader) (*model, error) {
	if o.Poll == 0 {
		o.Poll = time.Second
	}
	m := &model{look: newLook(o.Terminal), ctx: ctx, o: o, read: newReading(ctx, reader), screens: []screen{&runsScreen{}}, width: 80, height: 24}
	if o.At != "" {
		at, err := reader.Store.Load(ctx, o.At)
		if err != nil {
			return nil, err
		}
		frame := at.Address.Frame
		if at.Bare {
			frame = -1
		}
		m.screens = append(m.screens, newRunScreen(at.Address.Run, frame))
	}
	return m, nil
}

// top returns the screen that is shown.
func (m *model) top() screen { return m.screens[len(m.screens)-1] }

// open shows a screen over the others.
func (m *model) open(s screen) tea.Cmd {
	m.screens = append(m.screens, s)
	return s.load(m)
}

// A tick tells that it is time to look for something new.
type tick struct{}

// A failed tells that reading failed.
type failed struct{ err error }

// Init reads what the first screen shows.
func (m *model) Init() tea.Cmd { return tea.Batch(m.top().load(m), m.wakeUp()) }

// wakeUp returns what sends the next tick.
func (m *model) wakeUp() tea.Cmd {
	return tea.Tick(m.o.Poll, func(time.Time) tea.Msg { return tick{} })
}

// Update takes a key or another message.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		return m, nil
	case ran:
		if msg.err != nil {
			m.note = errorText(msg.err)
		}
		return m, m.top().load(m)
	case tick:
		return m, tea.Batch(m.top().load(m), m.wakeUp())
	case failed:
		m.note = errorText(msg.err)
		return m, nil
	case tea.SuspendMsg, tea.ResumeMsg:
		return m, nil
	case tea.KeyPressMsg:
		return m, m.press(msg)
	case tea.PasteMsg:
		if m.over != nil {
			return m, m.over.update(m, msg)
		}
		return m, nil
	}
	var cmds []tea.Cmd
	for _, s := range append(slices.Clip(m.screens), m.over) {
		if s != nil {
			cmds = append(cmds, s.update(m, msg))
		}
	}
	return m, tea.Batch(cmds...)
}

// press handles a key: the dialog comes first, then the screen, then the keys of all screens.
func (m *model) press(msg tea.KeyPressMsg) tea.Cmd {
	key := msg.String()
	m.note = ""
	if key == "ctrl+c" {
		return tea.Quit
	}
	if m.over != nil {
		if cmd, done := m.over.press(m, key); done {
			return cmd
		}
		if key == "esc" {
			m.over = nil
			return nil
		}
		return m.over.update(m, msg)
	}
	if cmd, done := m.top().press(m, key); done {
		return cmd
	}
	switch key {
	case "ctrl+z":
		return tea.Suspend
	case "?":
		m.over = new(helpScreen)
	case ":":
		m.over = newPrompt(m, ":", "")
	case "esc", "q", "backspace":
		if len(m.screens) > 1 {
			m.screens = m.screens[:len(m.screens)-1]
			return m.top().load(m)
		}
		if key == "q" {
			return tea.Quit
		}
	}
	return nil
}

// View draws the screen.
func (m *model) View() tea.View {
	height := max(m.height-1, 1)
	lines := m.top().draw(m, m.width, height)
	if m.over != nil {
		lines = overlay(lines, m.over.draw(m, m.width, height))
	}
	lines = append(lines, m.lastLine())
	v := tea.NewView(strings.Join(lines[:min(len(lines), m.height)], "\n"))
	v.AltScreen = true
	return v
}

// lastLine returns the last line of the screen: a note, or the keys.
func (m *model) lastLine() string {
	if m.note != "" {
		return say(m.fail, " "+m.note).draw(m.width, m.Dots)
	}
	hints := m.top().keys(m)
	if m.over != nil {
		hints = m.over.keys(m)
	}
	ln := line{}.add(m.none, " ")
	end := line{}.atRight(m.bold, "? ").atRight(m.dim, "keys ")
	if len(m.screens) > 1 {
		end = end.atRight(m.bold, " q ").atRight(m.dim, "back ")
	} else {
		end = end.atRight(m.bold, " q ").atRight(m.dim, "quit ")
	}
	if m.over != nil {
		end = line{}.atRight(m.bold, "esc ").atRight(m.dim, "back ")
	}
	used := len(end.text()) + 1
	for _, h := range hints { // whole hints only
		h.key = m.keyName(h.key)
		if used += len([]rune(h.key)) + len([]rune(h.does)) + 3; used > m.width {
			break
		}
		ln = ln.add(m.bold, h.key+" ").add(m.dim, h.does+"  ")
	}
	ln.right = end.right
	return ln.draw(m.width, m.Dots)
}

// keyName returns how a key is written on the terminal.
func (m *model) keyName(key string) string {
	if !m.ascii {
		return key
	}
	return strings.NewReplacer("⏎", "enter", "←", "<", "→", ">", "↑", "^", "↓", "v", "…", "-").Replace(key)
}

// errorText returns an error on one line, safe to show.
func errorText(err error) string {
	if known, ok := errors.AsType[*fault.Error](timeline.Explain(err)); ok && len(known.Hints) > 0 {
		return safe(plain.OneLine(known.Msg) + ": " + known.Hints[0])
	}
	return safe(plain.OneLine(err.Error()))
}

// A ran tells that a command at the terminal has ended.
type ran struct{ err error }

// runCommand runs a command of git smithers at the terminal, in place of the view, and waits for a key after it.
func (m *model) runCommand(args []string) tea.Cmd {
	cmd := exec.CommandContext(m.ctx, m.o.Program, args...) //nolint:gosec // our own program; the arguments are a list
	cmd.Dir, cmd.Env = m.o.Terminal.Dir, m.o.Terminal.Env
	return tea.Exec(&atTerminal{Cmd: cmd, line: fault.CommandLine(fault.Program, args...)}, func(err error) tea.Msg { return ran{err} })
}
