package objstore_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/objstore"
)

// slowRepack starts the real git repack -a -d. It has listed the packs and found what refs reach when started returns; it removes the listed packs and ends
// after finish was called.
func slowRepack(t *testing.T, r *repo) (finish func()) {
	t.Helper()
	git, err := exec.LookPath("git")
	require.NoError(t, err)
	path := r.git("--exec-path")
	dir := t.TempDir()
	found, goOn := filepath.Join(dir, "found"), filepath.Join(dir, "go-on")
	wrapper := fmt.Sprintf("#!/bin/sh\nexport GIT_EXEC_PATH=%q\n%q \"$@\"\ncode=$?\ncase $1 in pack-objects) : >%q; while [ ! -e %q ]; do sleep 0.01; done;; esac\nexit $code\n", path, git, found, goOn)
	repotest.WriteProgram(t, filepath.Join(dir, "git"), wrapper)
	ended := make(chan error, 1)
	go func() {
		out, err := r.runWith([]string{"GIT_EXEC_PATH=" + dir}, "", "repack", "-a", "-d", "-q")
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		ended <- err
	}()
	require.Eventually(t, func() bool { return len(ended) > 0 || isThere(found) }, time.Minute, 5*time.Millisecond)
	return func() {
		t.Helper()
		require.NoError(t, os.WriteFile(goOn, nil, 0o600))
		require.NoError(t, <-ended)
	}
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// errTaken is why a ref was not moved.
var errTaken = errors.New("another process has the ref's lock")

// writeFirst commits the first entry of a chain, which has the same objects each time.
func writeFirst(t *testing.T, s *objstore.Store, moveRefs func(tip objstore.ID) error) error {
	t.Helper()
	b := s.Begin()
	tip := newChain(3).step(b)
	return b.Commit(t.Context(), func() error { return moveRefs(tip) })
}

func TestARepackLeavesWhatIsWrittenOnceMore(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	s := r.open()
	require.ErrorIs(t, writeFirst(t, s, func(objstore.ID) error { return errTaken }), errTaken)
	finish := slowRepack(t, r)
	var tip objstore.ID
	require.NoError(t, writeFirst(t, s, func(id objstore.ID) error {
		tip = id
		return r.moveTip(id)()
	}))
	finish()
	_, err := objstore.GetKind(r.open(), tip, objstore.Commit)
	require.NoError(t, err)
	r.fsck()
}

func TestARepackLeavesWhatTwoProcessesWrite(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	wrote, meets, failed := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	one := r.open()
	go func() {
		failed <- writeFirst(t, one, func(objstore.ID) error {
			close(wrote)
			<-meets
			return errTaken
		})
	}()
	<-wrote
	var tip objstore.ID
	var finish func()
	require.NoError(t, writeFirst(t, r.open(), func(id objstore.ID) error {
		tip = id
		close(meets)
		require.ErrorIs(t, <-failed, errTaken)
		finish = slowRepack(t, r)
		return r.moveTip(id)()
	}))
	finish()
	_, err := objstore.GetKind(r.open(), tip, objstore.Commit)
	require.NoError(t, err)
	r.fsck()
}
