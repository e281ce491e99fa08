package agents

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func tagsCommand() *arg.Command {
	return &arg.Command{
		Name:    "tags",
		Summary: "list, make or delete tags of the frames of sessions",
		Usage:   []string{"[<session>]", "<session> --make | --delete"},
		About: `Lists the tags replay/<session>/<frame>, of all sessions or of one. --make makes a tag for each frame
of a session that has none, --delete deletes the tags of a session. The tags are your repository's
own: git describe and git log show them. git push --tags sends them with the frames behind them, past
the check for secrets that git smithers push makes. A session that is pruned by its age loses its tags.`,
		MaxArgs: 1,
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "make", Usage: "make a tag for each frame"},
			&urfave.BoolFlag{Name: "delete", Usage: "delete the tags of the session"},
		},
		Exits: arg.Writes(),
		Examples: []arg.Example{
			{"tag the frames of the newest session", "git smithers session tags @ --make"},
			{"delete these tags", "git smithers session tags @ --delete"},
		},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			return s.WithStore(ctx, func(store *timeline.Store) error { return runTags(ctx, s, store, c) })
		},
	}
}

// runTags makes, deletes or lists tags.
func runTags(ctx context.Context, s *session.Session, store *timeline.Store, c *urfave.Context) error {
	makes, deletes := c.Bool("make"), c.Bool("delete")
	switch {
	case makes && deletes:
		return fault.New(fault.Usage, "--make and --delete do not go together").Hint("type only one of them")
	case (makes || deletes) && !c.Args().Present():
		return fault.New(fault.Usage, "--make and --delete need a session").Hint("@session is the newest session of this working copy")
	}
	run := ""
	if c.Args().Present() {
		var err error
		resolve := agent.Session
		if makes || deletes {
			resolve = agent.SessionToChange
		}
		if run, err = resolve(ctx, store, c.Args().First()); err != nil {
			return err
		}
	}
	tags, err := agent.Tags(ctx, store, run)
	if makes && err == nil {
		tags, err = agent.MakeTags(ctx, store, run)
	}
	if deletes && err == nil {
		if err = agent.RemoveTags(ctx, store, run); err == nil {
			s.Note("deleted %s", plain.Count(len(tags), "tag"))
		}
	}
	if err != nil {
		return err
	}
	return writeTags(s, tags)
}

// writeTags prints a line for each tag.
func writeTags(s *session.Session, tags []agent.Tag) error {
	if s.JSON {
		return term.WriteAll(s.Terminal, "session-tag", tags)
	}
	t := term.Table{Header: []string{"TAG", "COMMIT"}}
	for _, tag := range tags {
		t.Add(term.Cell{Text: tag.Name}, term.Cell{Text: tag.Commit})
	}
	if s.JSON {
		return nil
	}
	return t.Write(s.Terminal)
}
