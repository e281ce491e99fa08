package cli

import (
	"context"
	"errors"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/cli/term"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// A session is one command line under way: its terminal, and the words of the command.
type session struct {
	*term.Terminal

	args  []string        // what was typed after the program's name
	hurry context.Context // ends with the second signal
}

// configure reads the flags that every command takes.
func (s *session) configure(c *urfave.Context) error {
	s.JSON, s.Quiet, s.Color = c.Bool("json"), c.Bool("quiet"), c.String("color")
	switch s.Color {
	case "auto", "always", "never":
		return nil
	}
	return fault.New(fault.Usage, "--color does not take %q", s.Color).Hint("it takes auto, always or never")
}

// withStore runs f on the history of the repository in which the command was called.
func (s *session) withStore(ctx context.Context, f func(*timeline.Store) error) error {
	store, err := timeline.Open(ctx, timeline.Options{Dir: s.Dir, Env: s.Env, Now: s.Now, Warn: s.Warn})
	if err != nil {
		return err
	}
	return errors.Join(f(store), store.Close()) //nolint:contextcheck // what was begun is finished, also after Ctrl-C
}
