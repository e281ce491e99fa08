// Package session is one command line under way: its terminal, the history of the repository that it is called in, and its errors.
package session

import (
	"context"
	"errors"

	"github.com/git-smithers/git-smithers/app"
	"github.com/git-smithers/git-smithers/cli/term"
	"github.com/git-smithers/git-smithers/timeline"
)

// A Session is one command line under way: its terminal, and the words of the command.
type Session struct {
	*term.Terminal

	Args  []string        // what was typed after the program's name
	Hurry context.Context // ends with the second signal
}

// WithStore runs f on the history of the repository in which the command was called.
func (s *Session) WithStore(ctx context.Context, f func(*timeline.Store) error) error {
	store, err := timeline.Open(ctx, timeline.Options{Dir: s.Dir, Env: s.Env, Now: s.Now, Warn: s.Warn})
	if err != nil {
		return err
	}
	return errors.Join(f(store), store.Close()) //nolint:contextcheck // what was begun is finished, also after Ctrl-C
}

// Folder is the one in which the command was called.
func (s *Session) Folder() app.Folder { return app.Folder(s.Dir) }

// Path is a file that the command line names.
func (s *Session) Path(name string) string {
	return s.Folder().Path(name)
}
