package program

import (
	"bytes"
	"context"
	"os"
	"path/filepath"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// manCommand returns the hidden command that prints the man page, which git shows for "git smithers --help". Packages and the Makefile install the
// page; --install does so for a program that Go has installed. tree returns the root of all commands.
func manCommand(tree func() *arg.Command) *arg.Command {
	return &arg.Command{
		Name:    "man",
		Summary: "print the man page in roff",
		Usage:   []string{"[--install]"},
		Hidden:  true,
		About: `git shows the man page for "git smithers --help". With --install, writes the page into
../share/man/man1 beside the folder of the program on PATH, where man looks for the pages of
programs, and prints its path.`,
		Flags:    []urfave.Flag{&urfave.BoolFlag{Name: "install", Usage: "put the man page where man finds it"}},
		Examples: []arg.Example{{"make git smithers --help work after go install", "git smithers man --install"}},
		Run: func(_ context.Context, s *session.Session, c *urfave.Context) error {
			if !c.Bool("install") {
				return arg.WriteMan(s.Out, tree())
			}
			return installMan(s, tree())
		},
	}
}

// installMan writes the man page beside the program and prints the path. Code: write_failed.
func installMan(s *session.Session, root *arg.Command) error {
	self, err := gitexec.Find(s.Env, "git-smithers") // as git and man find it, which may be a link to the program
	if err != nil {
		self, err = os.Executable()
	}
	if err != nil {
		return err
	}
	var page bytes.Buffer
	if err := arg.WriteMan(&page, root); err != nil {
		return err
	}
	path := filepath.Join(filepath.Dir(filepath.Dir(self)), "share", "man", "man1", "git-smithers.1")
	err = os.MkdirAll(filepath.Dir(path), 0o755) //nolint:gosec // everybody may read it
	if err == nil {
		err = os.WriteFile(path, page.Bytes(), 0o644) //nolint:gosec // everybody may read it
	}
	if err != nil {
		return fault.New(fault.WriteFailed, "the man page was not written: %w", err).
			Hint("`%s help` prints the same text", arg.Program).Hint("`%s man >FILE` writes it where you may", arg.Program)
	}
	if s.JSON {
		return s.WriteJSON(term.Document("man-page", term.Member("path", path)))
	}
	return s.Printf("%s\n", path)
}
