package timeline_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/captures"
	"github.com/git-smithers/git-smithers/internal/fsx/fsxtest"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

var errDied = errors.New("the process died")

// A process dies at any op of two captures, which another sends again. The power is cut
// as soon as that one has its answers: they are kept, though the first may have written
// them.
func TestWhatIsSentAgainAfterADeathIsDurableWhenItIsAnswered(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Bare)
	env := append(repo.Env, "GIT_SMITHERS_FSYNC=1")
	empty := fsxtest.New(t, repo.GitDir).Now()
	base := t.TempDir()
	ops := func() int {
		dir := filepath.Join(base, "alive")
		require.NoError(t, empty.WriteTo(dir, fsxtest.Everything))
		files := fsxtest.New(t, dir)
		_, err := captureTwice(t.Context(), t, dir, env, files)
		require.NoError(t, err)
		return len(files.Ops())
	}()
	require.Greater(t, ops, 40)

	var looking sync.WaitGroup
	slots := make(chan struct{}, looks)
	for last := range ops {
		dir := filepath.Join(base, strconv.Itoa(last))
		require.NoError(t, empty.WriteTo(dir, fsxtest.Everything))
		files := fsxtest.New(t, dir)
		slots <- struct{}{}
		looking.Go(func() {
			defer func() { <-slots }()
			assert.NoError(t, dieAndSendAgain(t, &recording{repo: repo, files: files}, dir, env, last), "died after op %d", last)
		})
	}
	looking.Wait()
}

// captureTwice captures two frames of a run, and returns the answers.
func captureTwice(ctx context.Context, t *testing.T, dir string, env []string, files *fsxtest.FS) (acks []ack, err error) {
	t.Helper()
	s, err := timeline.Open(ctx, optionsOn(t, dir, env, files))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	c, err := captures.Open(ctx, s, "run")
	if err != nil {
		return nil, err
	}
	for i := range 2 {
		answer, err := c.Capture(ctx, captureLine(i))
		if err != nil {
			return acks, err
		}
		acks = append(acks, ack{"run", fmt.Sprintf("run:%d", i), answer.Commit, answer.Commit})
	}
	return acks, nil
}

// dieAndSendAgain does so many ops of two captures and then nothing more, captures them
// again, and cuts the power.
func dieAndSendAgain(t *testing.T, r *recording, dir string, env []string, last int) error {
	t.Helper()
	// The dead run no git either, which the record would not see.
	ctx, die := context.WithCancel(t.Context())
	defer die()
	number := 0
	r.files.Fail(func(fsxtest.Op) fsxtest.Fault {
		if number++; number > last {
			die()
			return fsxtest.Fault{Err: errDied}
		}
		return fsxtest.Fault{}
	})
	if _, err := captureTwice(ctx, t, dir, env, r.files); err == nil {
		return errors.New("did not die")
	}
	r.files.Fail(nil)
	if err := r.readAndCut(t, dir, env); err != nil {
		return fmt.Errorf("only read: %w", err)
	}
	acks, err := captureTwice(t.Context(), t, dir, env, r.files)
	if err != nil {
		return fmt.Errorf("sent again: %w", err)
	}
	r.acks = acks
	return r.keeps(t, filepath.Join(dir, "cut"))
}

// readAndCut reads the run, which may make a frame's ref, and cuts the power: that ref is
// not there without its frame.
func (r *recording) readAndCut(t *testing.T, dir string, env []string) (err error) {
	t.Helper()
	s, err := timeline.Open(t.Context(), optionsOn(t, dir, env, r.files))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if _, err := s.Head(t.Context(), "run"); err != nil && fault.CodeOf(err) != fault.RunNotFound {
		return err
	}
	return r.keeps(t, filepath.Join(dir, "read"))
}
