package upkeep

import (
	"context"
	"errors"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/cli/arg"
	"github.com/git-smithers/git-smithers/cli/session"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// initDocument is what init prints with --json.
type initDocument struct {
	Kind    string `json:"kind"`
	Created bool   `json:"created"`
	GitDir  string `json:"gitDir"`
	JJAlias *bool  `json:"jjAlias"` // whether jj smithers works; null outside of jj
	// QuietLog is what leaves the entries of runs out of each tool's log; only with --quiet-log.
	QuietLog []quietTool `json:"quietLog,omitempty"`
}

func initCommand() *arg.Command {
	return &arg.Command{
		Name:    "init",
		Summary: "say where run history is kept, or make a place for it",
		Usage:   []string{"[--yes] [--jj]", "--quiet-log"},
		About: `In a git repository there is nothing to set up: runs are kept in it, under
refs/smithers/, from the first one on. Outside of any repository, init offers to
make .smithers/store.git, a bare repository for run history alone; commands called
in this folder, or below it, then use that.

In a working copy of jj, init offers to set an alias in the configuration of the jj
repository, with which "jj smithers" works like "git smithers".

git log shows the entries of runs if it is asked for all refs: git log --all, and gitk,
tig and lazygit, which ask for them. --quiet-log prints the commands and settings that
leave them out, for each of these tools. Nothing is set.

Prints the git directory that keeps the runs.`,
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "make and set it without asking"},
			&urfave.BoolFlag{Name: "jj", Usage: "set the alias of jj without asking"},
			&urfave.BoolFlag{Name: "quiet-log", Usage: "print how git log --all, gitk, tig and lazygit leave the entries of runs out"},
		},
		Exits: arg.Writes(),
		Examples: []arg.Example{
			{"keep run history in a folder that is no repository", "git smithers init --yes"},
			{"make `jj smithers` work in a jj repository", "git smithers init --jj"},
			{"keep the entries of runs out of `git log --all` and of graph viewers", "git smithers init --quiet-log"},
		},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			if c.Bool("quiet-log") {
				return printQuietLog(ctx, s)
			}
			return runInit(ctx, s, c.Bool("yes"), c.Bool("jj"))
		},
	}
}

// runInit finds where runs are kept, or makes a place for them with consent.
func runInit(ctx context.Context, s *session.Session, yes, jj bool) error {
	doc := initDocument{Kind: "init"}
	err := s.WithStore(ctx, func(store *timeline.Store) error {
		doc.GitDir = store.Repo().CommonDir
		return nil
	})
	if fault.CodeOf(err) == fault.NoRepository {
		doc.Created = true
		doc.GitDir, err = makeStore(ctx, s, yes)
	}
	if err == nil && !doc.Created {
		doc.JJAlias, err = offerJJ(ctx, s, yes || jj)
	}
	if err == nil && jj && doc.JJAlias == nil {
		err = noJJ()
	}
	if err != nil {
		return err
	}
	if s.JSON {
		return s.WriteJSON(doc)
	}
	if doc.Created {
		s.Note("made a bare repository for run history alone")
	} else {
		s.Note("runs are kept in this repository: there is nothing to set up")
	}
	if doc.JJAlias != nil {
		noteJJ(s, *doc.JJAlias)
	}
	s.Note("`%s init --quiet-log` prints how to keep runs out of `git log --all`, gitk, tig and lazygit", arg.Program)
	return s.Printf("%s\n", plain.Text(doc.GitDir))
}

// makeStore makes .smithers/store.git in the folder of the command.
func makeStore(ctx context.Context, s *session.Session, yes bool) (string, error) {
	if !yes {
		if err := confirm(s, "This is no git repository. Make .smithers/store.git here, for run history alone?"); err != nil {
			return "", err
		}
	}
	return timeline.InitBare(ctx, s.Dir, s.Env)
}

// confirm asks a person. Any answer but yes is an error, and so is the lack of a terminal.
func confirm(s *session.Session, question string) error {
	if !s.InTTY || !s.AtTerminal(s.Err) {
		return fault.New(fault.NoRepository, "not a git repository, and there is no terminal to ask at").
			Hint("run `git init`, or `git smithers init --yes` to keep run history alone")
	}
	yes, err := s.Ask(question)
	if yes && err == nil {
		return nil
	}
	return errors.Join(fault.New(fault.NoRepository, "nothing was made").
		Hint("run `git init`, or `git smithers init --yes` to keep run history alone"), err)
}
