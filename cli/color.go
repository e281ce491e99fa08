package cli

import (
	"context"
	"os/exec"
	"strings"
)

// A painter puts colour around text. The zero painter leaves it as it is. Meaning
// never depends on colour alone.
type painter struct{ on bool }

// The styles, as parameters of the terminal's SGR sequence.
const (
	bold    = "1"
	dim     = "2"
	red     = "31"
	green   = "32"
	yellow  = "33"
	magenta = "35"
	cyan    = "36"
)

func (p painter) paint(style, text string) string {
	if !p.on || style == "" || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[m"
}

// status paints the status of a run, or the state of a node or attempt.
func (p painter) status(text string) string {
	switch text {
	case "finished":
		return p.paint(green, text)
	case "failed":
		return p.paint(red, text)
	case "running", "in-progress":
		return p.paint(cyan, text)
	case "cancelled", "running (stale)":
		return p.paint(yellow, text)
	case "waiting-approval", "waiting-human", "waiting-event", "waiting-timer":
		return p.paint(magenta, text)
	}
	return p.paint(dim, text)
}

// painter decides about colour on standard output: by --color, then NO_COLOR, then
// whether it ends at a terminal that can show it, then git's color.ui.
func (s *session) painter(ctx context.Context) painter {
	switch s.color {
	case "always":
		return painter{true}
	case "never":
		return painter{}
	}
	if no, _ := s.lookupEnv("NO_COLOR"); no != "" {
		return painter{}
	}
	if kind, _ := s.lookupEnv("TERM"); kind == "dumb" || !s.isTerminalOut() {
		return painter{}
	}
	return painter{s.gitAllowsColor(ctx)}
}

// isTerminalOut tells whether a person reads standard output: at a terminal, or
// through the pager that git itself has started for us.
func (s *session) isTerminalOut() bool {
	if used, _ := s.lookupEnv("GIT_PAGER_IN_USE"); used == "true" || used == "1" {
		return true
	}
	return s.outTTY
}

// gitAllowsColor asks git for color.smithers and color.ui. No answer means yes.
func (s *session) gitAllowsColor(ctx context.Context) bool {
	answer, err := s.git(ctx, "config", "--get-colorbool", "color.smithers", "true")
	return err != nil || answer != "false"
}

// git runs a git command that only asks, and returns its answer without the final
// line feed.
func (s *session) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env = s.Dir, s.Env
	out, err := cmd.Output()
	return strings.TrimRight(string(out), "\n"), err
}
