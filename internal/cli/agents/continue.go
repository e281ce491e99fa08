package agents

import (
	"context"
	"fmt"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app/courses"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func continueCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "continue",
		Summary: "hand the conversation of a course to the agent in this folder",
		Usage:   []string{"<course>[:<frame>]"},
		About: `Makes a session of the agent that goes on in this working copy with the conversation of another
course, and prints the command that starts the agent on it. The course, and the session from which it
was forked, stay as they are. The new session is a fork of the course: branches shows it. In the
timeline of the first session, a frame says where it goes on.

The files are not touched. They must be those of the course: land or restore the course first. If they
differ, and no landing has brought the course here, continue refuses.`,
		MinArgs: 1, MaxArgs: 1,
		Newest: true,
		Exits:  arg.Writes(),
		Examples: []arg.Example{
			{"bring the best course back: its work, and then its conversation", "git smithers land --best fix && git smithers session continue claude-1c5e0d9e"},
		},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		return s.WithStore(ctx, func(store *timeline.Store) error {
			address, err := agent.Address(ctx, store, c.Args().First())
			if err != nil {
				return err
			}
			course, err := courses.Continue(ctx, store, address)
			if err != nil {
				return err
			}
			return writeContinued(s, course)
		})
	}
	return cmd
}

// writeContinued prints the command that goes on with a conversation in this folder.
func writeContinued(s *session.Session, c *agent.Course) error {
	if s.JSON {
		return s.WriteJSON(term.Document("session-continue", term.Member("from", c.From.String()), term.Member("run", c.Run), term.Member("session", c.Session),
			term.Member("dir", c.Dir), term.Optional("file", c.File), term.Member("kept", c.Kept), term.Member("of", c.Of),
			term.Member("missingSecrets", c.Missing), term.Member("command", c.Command)))
	}
	s.Note("the conversation of %s goes on as run %s, in %s", plain.Text(c.From.String()), plain.Text(c.Run), plain.Text(c.Dir))
	sayKept(s, c)
	if !c.Recorded {
		s.Note("%s was not recorded in this clone: the agent will obey its conversation", plain.Text(c.From.Run))
	}
	line := fault.CommandLine(c.Command[0], c.Command[1:]...)
	if s.Dir != c.Dir {
		line = startLine(c)
	}
	_, err := fmt.Fprintln(s.Out, line)
	return err
}
