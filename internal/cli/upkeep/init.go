package upkeep

import (
	"context"
	"errors"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// initDocument is the document of init --json.
type initDocument struct {
	Kind    string `json:"kind"`
	Created bool   `json:"created"`
	GitDir  string `json:"gitDir"`
	JJAlias *bool  `json:"jjAlias"` // whether jj smithers works; null outside of jj
	PrePush *bool  `json:"prePush"` // whether there is a pre-push hook of ours; null in a store of run history
	// QuietLog has the settings that hide the commits of runs in the log of each tool; nil without --quiet-log.
	QuietLog []quietTool `json:"quietLog,omitempty"`
}

func initCommand() *arg.Command {
	return &arg.Command{
		Name:    "init",
		Summary: "show where run history is stored, or create a store for it",
		Usage:   []string{"[--yes] [--jj] [--pre-push]", "--quiet-log"},
		About: `A git repository needs no setup: the first run creates its history in it, under
refs/smithers/. Outside of any repository, init offers to create .smithers/store.git, a bare
repository for run history; commands in this folder and below use it.

In a jj working copy, init offers to set an alias in the configuration of the jj repository,
so that "jj smithers" works like "git smithers".

init also offers a pre-push hook: a plain git push of runs is then refused if it would carry a
secret, as git smithers push is. The hook is made where git runs hooks, also if core.hooksPath,
husky or lefthook decides that. An existing hook stays as it is; init prints the line to add.

git log --all, gitk, tig and lazygit also show the commits of runs. --quiet-log prints the
commands and settings that hide these commits in each of these tools. It changes no setting.

Prints the git directory that stores the runs.`,
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "create the store and set the alias without asking"},
			&urfave.BoolFlag{Name: "jj", Usage: "set the jj alias without asking"},
			&urfave.BoolFlag{Name: "pre-push", Usage: "install the pre-push hook without asking"},
			&urfave.BoolFlag{Name: "quiet-log", Usage: "print settings that hide run history in git log --all, gitk, tig and lazygit"},
		},
		Exits: arg.Writes(),
		Examples: []arg.Example{
			{"store run history in a folder outside of any repository", "git smithers init --yes"},
			{"make `jj smithers` work in a jj repository", "git smithers init --jj"},
			{"hide run history in `git log --all` and in graph viewers", "git smithers init --quiet-log"},
		},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			if c.Bool("quiet-log") {
				return printQuietLog(ctx, s)
			}
			return runInit(ctx, s, initFlags{yes: c.Bool("yes"), jj: c.Bool("jj"), prePush: c.Bool("pre-push")})
		},
	}
}

// initFlags are the flags of init.
type initFlags struct{ yes, jj, prePush bool }

// runInit sets up the store, the alias or the hook if it is missing, and prints the git directory in which runs are stored.
//   - Outside of a repository, it makes a store for runs. It first asks the person at the terminal, unless --yes is given.
//     The error is no_repository if the person does not agree, or if there is no terminal.
//   - In a jj working copy, it sets the alias for "jj smithers". It first asks the person at the terminal, unless --yes
//     or --jj is given.
//   - In a git repository, it installs the pre-push hook. It first asks the person at the terminal, unless --pre-push is given.
//
// The error is usage if --jj is given, but there is no jj working copy.
func runInit(ctx context.Context, s *session.Session, flags initFlags) error {
	doc := initDocument{Kind: "init"}
	var repo gitexec.Repo
	err := s.WithStore(ctx, func(store *timeline.Store) error {
		repo = store.Repo()
		doc.GitDir = repo.CommonDir
		return nil
	})
	if fault.CodeOf(err) == fault.NoRepository {
		doc.Created = true
		doc.GitDir, err = makeStore(ctx, s, flags.yes)
	}
	if err == nil && !doc.Created {
		doc.JJAlias, err = offerJJ(ctx, s, flags.yes || flags.jj)
	}
	var hook string
	if err == nil && !doc.Created {
		doc.PrePush, hook, err = offerHook(ctx, s, repo, flags.prePush)
	}
	if err == nil && flags.jj && doc.JJAlias == nil {
		err = noJJ()
	}
	if err != nil {
		return err
	}
	if s.JSON {
		return s.WriteJSON(doc)
	}
	if doc.Created {
		s.Note("made a bare repository for run history")
	} else {
		s.Note("runs are stored in this repository; no setup is needed")
	}
	if doc.JJAlias != nil {
		noteJJ(s, *doc.JJAlias)
	}
	if doc.PrePush != nil && *doc.PrePush {
		s.Note("the pre-push hook searches runs for secrets: %s", plain.Text(hook))
	}
	s.Note("`%s init --quiet-log` prints settings that hide run history in `git log --all`, gitk, tig and lazygit", arg.Program)
	return s.Printf("%s\n", plain.Text(doc.GitDir))
}

// makeStore makes the store .smithers/store.git in the folder in which the command was called, and returns the git
// directory of the store. If yes is false, it first asks the person at the terminal. It returns no_repository if the
// person does not agree, or if there is no terminal.
func makeStore(ctx context.Context, s *session.Session, yes bool) (string, error) {
	if !yes {
		if err := confirm(s, "This folder is not in a git repository. Create .smithers/store.git in it, for run history only?"); err != nil {
			return "", err
		}
	}
	return timeline.InitBare(ctx, s.Dir, s.Env)
}

// confirm asks the person at the terminal a question. It returns nil if the answer is yes. If the answer is not yes, or
// if there is no terminal, it returns no_repository. An error of reading the answer is joined to this error.
func confirm(s *session.Session, question string) error {
	if !s.InTTY || !s.AtTerminal(s.Err) {
		return fault.New(fault.NoRepository, "not a git repository, and there is no terminal to ask for consent").
			Hint("run `git init`, or `git smithers init --yes` to store run history only")
	}
	yes, err := s.Ask(question)
	if yes && err == nil {
		return nil
	}
	return errors.Join(fault.New(fault.NoRepository, "nothing was created").
		Hint("run `git init`, or `git smithers init --yes` to store run history only"), err)
}
