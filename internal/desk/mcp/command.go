package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/git-smithers/git-smithers/internal/cli"
	"github.com/git-smithers/git-smithers/internal/outfit"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// A command is a command line of git smithers that a tool runs in this process.
type command struct {
	args []string
	in   string    // standard input
	path string    // the file whose lines the output has; "" for none or several
	now  time.Time // the clock: pages of one answer are of one moment
	page bool      // print what a person sees at a terminal
}

// An answer is what a command has said.
type answer struct {
	text   string // on standard output, for a model
	notes  string // on standard error, for a model
	raw    []byte // standard output as it is
	status int    // the exit status
	setup  string // the command that runs in new working copies; "" if there is none, or the command line is not of what-if
	root   string // the top of the working copy
}

// failed reports whether the command has ended with an error.
func (a *answer) failed() bool { return a.status != fault.ExitOK }

// maxOutput is how many bytes of a command's output are read. A command that writes more is ended.
const maxOutput = 4 << 20

// A limited buffer takes up to maxOutput bytes, and then fails like a pipe that nobody reads.
type limited struct{ bytes.Buffer }

// Write implements io.Writer.
func (b *limited) Write(p []byte) (int, error) {
	if room := maxOutput - b.Len(); len(p) > room {
		n, _ := b.Buffer.Write(p[:room]) // never fails
		return n, syscall.EPIPE
	}
	return b.Buffer.Write(p)
}

// run runs a command. Its texts have no secrets. The error is that the repository cannot be opened, or is another than before.
func (s *server) run(ctx context.Context, c command) (_ *answer, err error) {
	select {
	case s.turns <- struct{}{}:
		defer func() { <-s.turns }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	store, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }() //nolint:contextcheck // closing must finish
	hide, err := newMask(store)
	if err != nil {
		return nil, err
	}
	var setup string
	if slices.Contains(c.args, "what-if") {
		if setup, _, err = store.Repo().OwnCommand(ctx, outfit.Setting, s.streams.Env); err != nil {
			return nil, err
		}
	}
	var out, said limited
	status := cli.Main(ctx, cli.Streams{
		In: strings.NewReader(c.in), Out: &out, Err: &said, Dir: s.streams.Dir,
		Env:   append(slices.Clone(s.streams.Env), "GIT_PAGER=cat", "COLUMNS=120", "GIT_SMITHERS_ASCII=0"),
		Now:   func() time.Time { return c.now },
		IsTTY: func(stream any) bool { return c.page && stream == io.Writer(&out) },
	}, append([]string{"--color=never"}, c.args...))
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return &answer{hide.text(c.path, out.Bytes()), hide.text("", said.Bytes()), out.Bytes(), status, setup, store.Workspace().Root}, nil
}

// open opens the repository. Code: no_repository if it is not the one that open has opened first: the folder of the server may have become part of
// another repository, or have got another one.
func (s *server) open(ctx context.Context) (*timeline.Store, error) {
	store, err := timeline.Open(ctx, timeline.Options{Dir: s.streams.Dir, Env: s.streams.Env, Now: s.streams.Now})
	if err != nil {
		return nil, err
	}
	if err := s.pin(store); err != nil {
		return nil, errors.Join(err, store.Close()) //nolint:contextcheck // closing must finish
	}
	return store, nil
}

// pin returns no_repository if the store is not that of the first repository.
func (s *server) pin(store *timeline.Store) error {
	gitDir, err := os.Open(store.Repo().CommonDir)
	if err != nil {
		return fault.New(fault.NoRepository, "git's folder: %w", err)
	}
	now, err := gitDir.Stat()
	if err != nil {
		return errors.Join(fault.New(fault.NoRepository, "git's folder: %w", err), gitDir.Close())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.gitDir == nil
	if first {
		s.private, s.gitDir = store.Private(), now
	}
	if first && runtime.GOOS != "windows" { // where an open folder keeps its place
		s.hold = gitDir
	} else if err := gitDir.Close(); err != nil {
		return fault.New(fault.NoRepository, "git's folder: %w", err)
	}
	if s.private != store.Private() || !os.SameFile(s.gitDir, now) {
		return fault.New(fault.NoRepository, "the repository for which this server was started is gone").
			Hint("start the server again to read another repository")
	}
	return nil
}

// line returns a command line of flags that are not "", and of words after --. Words that are "" are left out at the end.
func line(words ...string) command {
	at := slices.Index(words, "--")
	if at < 0 {
		at = len(words)
	}
	args := slices.DeleteFunc(slices.Clone(words[:at]), func(word string) bool { return word == "" })
	for end := len(words); end > at; end-- {
		if words[end-1] != "" {
			args = append(args, words[at:end]...)
			break
		}
	}
	return command{args: args}
}

// opt returns a flag with its value, or "" for the zero value.
func opt[T comparable](name string, value T) string {
	if value == *new(T) {
		return ""
	}
	return fmt.Sprintf("%s=%v", name, value)
}
