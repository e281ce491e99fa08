package view

import (
	"context"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// allowable are the tools that --allow can name.
var allowable = []string{"restore", "what-if"}

// MCP returns the command mcp.
func MCP() *arg.Command {
	cmd := &arg.Command{
		Name:    "mcp",
		Summary: "let a coding agent read its history, and go back, by the Model Context Protocol",
		Usage:   []string{"[--allow restore,what-if]"},
		About: `Serves the runs and sessions of this repository to a coding agent by the Model Context Protocol, on
standard input and output, until the agent closes them. The agent starts it: the examples say how it
is told to.

The tools are status, timeline, show, diff, who_changed, search, checkpoint, restore and what_if. They
read the runs of this repository alone. A result is at most 32 KB, and has no secrets.

restore and what_if show you what they would change, and ask you through your agent. An agent that
cannot ask you is refused. With --allow restore, --allow what-if or both, nobody is asked.`,
		MaxArgs: 0,
		Flags:   []urfave.Flag{&urfave.StringFlag{Name: "allow", Usage: "carry out `TOOLS` without asking: restore, what-if or both"}},
		Exits:   arg.Reads(),
		Examples: []arg.Example{
			{"add it to Claude Code", "claude mcp add git-smithers -- git smithers mcp"},
			{"add it to Codex CLI", "codex mcp add git-smithers -- git smithers mcp"},
			{"add it to Gemini CLI", "gemini mcp add git-smithers git smithers mcp"},
			{"serve an agent that nobody watches", "git smithers mcp --allow restore,what-if"},
		},
	}
	cmd.Run = func(_ context.Context, s *session.Session, c *urfave.Context) error {
		allow := strings.FieldsFunc(c.String("allow"), func(r rune) bool { return r == ',' || r == ' ' })
		for _, name := range allow {
			if !slices.Contains(allowable, name) {
				return cmd.Misused("--allow cannot be %q", name).Hint("use %s or both", strings.Join(allowable, ", "))
			}
		}
		if s.InTTY {
			return fault.New(fault.Usage, "mcp talks to a coding agent, and standard input is a terminal").
				Hint("`claude mcp add git-smithers -- git smithers mcp` adds it to Claude Code; `git smithers help mcp` has the other agents")
		}
		return requests.BecomeDesk(s, "mcp", "--allow="+strings.Join(allow, ","))
	}
	return cmd
}
