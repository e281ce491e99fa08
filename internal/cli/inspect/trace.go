package inspect

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app/agenttrace"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/timeline"
)

func traceCommand() *arg.Command {
	return &arg.Command{
		Name:    "trace",
		Summary: "write who wrote the lines of a commit as an Agent Trace record",
		Usage:   []string{"--commit REV"},
		About: `Prints a record of Agent Trace (agent-trace.dev), version 0.1.0: the files of a commit, and
for the lines that are new in it the frame, session and prompt that wrote them. An address is
a URI without a host: smithers:RUN:FRAME. With jj, the record names the change.`,
		Required: []string{"commit"},
		Flags:    []urfave.Flag{&urfave.StringFlag{Name: "commit", Usage: "the commit `REV`: an id or any revision, such as HEAD~2"}},
		Exits:    arg.Reads(),
		Examples: []arg.Example{
			{"keep the record as a note of git", "git smithers trace --commit HEAD | git notes --ref agent-trace add -F - HEAD"},
		},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			return s.WithStore(ctx, func(store *timeline.Store) error {
				record, err := agenttrace.Of(ctx, store, c.String("commit"))
				if err != nil {
					return err
				}
				return s.WriteJSON(record)
			})
		},
	}
}
