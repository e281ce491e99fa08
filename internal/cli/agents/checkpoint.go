package agents

import (
	"context"
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/timeline"
)

func checkpointCommand() *arg.Command {
	return &arg.Command{
		Name:    "checkpoint",
		Summary: "keep this moment of a session",
		Usage:   []string{"[<session>] [-m LABEL | -m -]"},
		About: `Appends a frame with the files of now to the session. <session> is a run, the agent's own id, or @,
the default: the newest session of this working copy. The label - is read from standard input, so that
no shell reads it. A session with a checkpoint is not pruned by age.
git smithers sql 'SELECT * FROM checkpoints' lists all.`,
		MaxArgs:  1,
		Newest:   true,
		Flags:    []urfave.Flag{&urfave.StringFlag{Name: "message", Aliases: []string{"m"}, Usage: "call the checkpoint `LABEL`"}},
		Exits:    arg.Writes(),
		Examples: []arg.Example{{"keep the moment before something bold", "git smithers session checkpoint -m 'before the rewrite'"}},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			label, err := textOf(ctx, s, "--message", c.String("message"))
			if err != nil {
				return err
			}
			return s.WithStore(ctx, func(store *timeline.Store) error {
				run, err := agent.SessionToChange(ctx, store, c.Args().First())
				if err != nil {
					return err
				}
				at, err := agent.MakeCheckpoint(ctx, store, run, label)
				if err != nil {
					return err
				}
				if s.JSON {
					return s.WriteJSON(term.Document("session-checkpoint", term.Member("run", at.Run), term.Member("frame", at.Frame),
						term.Optional("label", label)))
				}
				_, err = fmt.Fprintln(s.Out, at)
				return err
			})
		},
	}
}

// textOf returns a text of the command line or, if it is -, that of standard input without the line ends at its end. name names it in messages. Codes: those
// of arg.ReadText.
func textOf(ctx context.Context, s *session.Session, name, text string) (string, error) {
	if text != "-" {
		return text, nil
	}
	data, err := arg.ReadText(ctx, s, name, text)
	return strings.TrimRight(string(data), "\r\n"), err
}
