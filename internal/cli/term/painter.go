package term

import (
	"context"
	"os/exec"
	"strings"

	"github.com/git-smithers/git-smithers/internal/plain"
)

// A Painter puts colour around text. The zero Painter adds no colour. No meaning depends on colour alone.
type Painter struct{ on bool }

// The styles, as parameters of the terminal's SGR sequence.
const (
	Bold    = "1"
	Dim     = "2"
	Red     = "31"
	Green   = "32"
	Yellow  = "33"
	Magenta = "35"
	Cyan    = "36"
	Grey    = "90"
	Blue    = "94" // the bright one: the other is hard to read on black
)

// On reports whether the painter adds colours to text.
func (p Painter) On() bool { return p.on }

// Lines returns the lines of a task's output, safe to show. If the painter is on, they keep their colours.
func (p Painter) Lines(text string) []string {
	if p.on {
		return plain.Coloured(text)
	}
	return plain.Lines(plain.Uncolored(text))
}

// Paint returns text in the given style. It returns text unchanged if the painter is off, or if style or text is "".
func (p Painter) Paint(style, text string) string {
	if !p.on || style == "" || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[m"
}

// Status returns text, the status of a run or the state of a node or attempt, in the colour of this state. A state
// without a colour, and any other text, is faint.
func (p Painter) Status(text string) string { return p.StatusAs(text, text) }

// StatusAs returns text in the colour that Status gives to status.
func (p Painter) StatusAs(status, text string) string {
	switch status {
	case "finished":
		return p.Paint(Green, text)
	case "failed":
		return p.Paint(Red, text)
	case "running", "in-progress":
		return p.Paint(Cyan, text)
	case "cancelled", "running (stale)":
		return p.Paint(Yellow, text)
	case "waiting-approval", "waiting-human", "waiting-event", "waiting-timer":
		return p.Paint(Magenta, text)
	}
	return p.Paint(Dim, text)
}

// Painter returns the painter for standard output. The first of these rules that applies decides whether the painter
// adds colours:
//   - --color=always turns the colours on, and --color=never turns them off.
//   - If NO_COLOR is set and not empty, the colours are off.
//   - If standard output is not a terminal, or TERM is dumb, the colours are off.
//   - Otherwise git's settings color.smithers and color.ui decide.
func (s *Terminal) Painter(ctx context.Context) Painter { return s.painter(ctx, s.IsTerminalOut()) }

// ErrPainter returns the painter for standard error, by the same rules.
func (s *Terminal) ErrPainter(ctx context.Context) Painter {
	return s.painter(ctx, s.AtTerminal(s.Err))
}

// painter returns the painter for a stream. person reports whether a person reads it.
func (s *Terminal) painter(ctx context.Context, person bool) Painter {
	switch s.Color {
	case "always":
		return Painter{true}
	case "never":
		return Painter{}
	}
	if no, _ := s.LookupEnv("NO_COLOR"); no != "" {
		return Painter{}
	}
	if kind, _ := s.LookupEnv("TERM"); kind == "dumb" || !person {
		return Painter{}
	}
	return Painter{s.gitAllowsColor(ctx)}
}

// IsTerminalOut reports whether a person reads standard output: at a terminal, or through the pager that git has
// started for this process.
func (s *Terminal) IsTerminalOut() bool {
	if used, _ := s.LookupEnv("GIT_PAGER_IN_USE"); used == "true" || used == "1" {
		return true
	}
	return s.OutTTY
}

// gitAllowsColor reports whether git's settings allow colours. The setting color.smithers decides, or color.ui if
// color.smithers is not set. If git cannot be asked, gitAllowsColor returns true.
func (s *Terminal) gitAllowsColor(ctx context.Context) bool {
	// The last argument tells git that standard output is a terminal.
	answer, err := s.Git(ctx, "config", "--get-colorbool", "color.smithers", "true")
	return err != nil || answer != "false"
}

// Git runs a git command with args, and returns its standard output without the line feeds at the end. The command must
// only read.
func (s *Terminal) Git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env = s.Dir, s.Env
	out, err := cmd.Output()
	return strings.TrimRight(string(out), "\n"), err
}
