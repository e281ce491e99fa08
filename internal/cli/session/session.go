// Package session has the parts that every command uses: the terminal, the history of the repository, and the report of
// errors.
package session

import (
	"context"
	"errors"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/serve"
	"github.com/git-smithers/git-smithers/timeline"
)

// A Session is one running command line: its terminal, and the words of the command.
type Session struct {
	*term.Terminal

	Args []string // the words after the program's name, as they were typed
	// TrustFiles has the values of --trust-files.
	TrustFiles []string
	Hurry      context.Context // ends when the process gets a second signal to stop
}

// WithStore opens the history of the repository in which the command was called, calls f with the history, and closes
// the history. If the history cannot be opened, WithStore returns this error and does not call f. Otherwise it returns
// the error of f joined with the error of closing.
func (s *Session) WithStore(ctx context.Context, f func(*timeline.Store) error) error {
	store, err := timeline.Open(ctx, timeline.Options{Dir: s.Dir, Env: s.Env, Now: s.Now, Warn: s.Warn, TrustFiles: s.TrustFiles})
	if err != nil {
		return err
	}
	if err := serve.PublishCalls(ctx, store); err != nil {
		s.Warn(err)
	}
	return errors.Join(f(store), store.Close()) //nolint:contextcheck // closing must finish even after Ctrl-C
}

// Folder returns the folder in which the command was called.
func (s *Session) Folder() app.Folder { return app.Folder(s.Dir) }

// Path returns the path of the file with the given name. A relative name is resolved against the folder in which the
// command was called. An absolute name is returned unchanged.
func (s *Session) Path(name string) string {
	return s.Folder().Path(name)
}
