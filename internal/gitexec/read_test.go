package gitexec_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/repotest"
)

func TestReadReadsWhileGitRuns(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	git := gitexec.New(gitexec.Repo{CommonDir: repo.GitDir}, repo.Env)
	read := func(ctx context.Context, stdin io.Reader, take func(io.Reader) error, args ...string) (string, error) {
		return git.Read(ctx, stdin, args, take)
	}
	all := func(r io.Reader) error { _, err := io.Copy(io.Discard, r); return err }
	line := func(r io.Reader) error { _, err := bufio.NewReader(r).ReadString('\n'); return err }

	t.Run("its error ends git, which would go on for ever", func(t *testing.T) {
		t.Parallel()
		input, open, err := os.Pipe() // nobody ends it
		require.NoError(t, err)
		defer func() { assert.NoError(t, errors.Join(input.Close(), open.Close())) }()
		enough := errors.New("enough")
		_, err = read(t.Context(), input, func(io.Reader) error { return enough }, "cat-file", "--batch")
		require.ErrorIs(t, err, enough)
	})
	t.Run("git's own error comes before that of an output that ends too early", func(t *testing.T) {
		t.Parallel()
		said, err := read(t.Context(), nil, line, "rev-list", "no-such-ref", "--")
		known, ok := errors.AsType[*gitexec.Error](err)
		require.True(t, ok, "%v", err)
		assert.Equal(t, 128, known.Status)
		assert.Contains(t, said, "no-such-ref")
	})
	t.Run("an output that ends too early is an error, though git succeeds", func(t *testing.T) {
		t.Parallel()
		_, err := read(t.Context(), strings.NewReader(""), line, "cat-file", "--batch")
		require.ErrorIs(t, err, io.EOF)
	})
	t.Run("the cause of the context's end", func(t *testing.T) {
		t.Parallel()
		ctx, end := context.WithCancelCause(t.Context())
		cause := errors.New("ctrl-c")
		_, err := read(ctx, nil, func(r io.Reader) error { end(cause); return all(r) }, "cat-file", "--batch-all-objects", "--batch")
		require.ErrorIs(t, err, cause)
	})
	t.Run("no git", func(t *testing.T) {
		t.Parallel()
		_, err := gitexec.New(gitexec.Repo{CommonDir: repo.GitDir}, []string{"PATH=/nowhere"}).Read(t.Context(), nil, []string{"version"}, all)
		require.ErrorIs(t, err, gitexec.ErrNoGit)
	})
}
