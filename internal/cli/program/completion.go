package program

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/session"
)

// completionCommand returns the command that prints the completion script for a shell. tree returns the root of all
// commands.
func completionCommand(tree func() *arg.Command) *arg.Command {
	return &arg.Command{
		Name:    "completion",
		Summary: "print the completion script for a shell",
		Usage:   []string{"{bash | zsh | fish}"},
		About: `The script completes commands, flags, runs, frames (after "<run>:"), tasks and workflow
files, for "git smithers" and for "git-smithers". In bash and zsh it extends git's own
completion.`,
		MinArgs: 1, MaxArgs: 1,
		Examples: []arg.Example{
			{"complete in this bash", `source <(git smithers completion bash)`},
			{"complete in every fish", `git smithers completion fish > ~/.config/fish/completions/git-smithers.fish`},
		},
		Run: func(_ context.Context, s *session.Session, c *urfave.Context) error {
			script, err := arg.CompletionScript(tree(), c.Args().First())
			if err != nil {
				return err
			}
			return s.Printf("%s", script)
		},
	}
}
