package jjbridge_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/jjbridge"
)

// captureOnce is the environment variable that turns the test binary into one that
// captures the folder it names, over and over.
const captureOnce = "JJBRIDGE_TEST_CAPTURE"

func TestMain(m *testing.M) {
	dir := os.Getenv(captureOnce)
	if dir == "" {
		m.Run() // testing exits with its result
		return
	}
	if err := captureOverAndOver(context.Background(), dir); err != nil {
		fmt.Println("failed", err)
		os.Exit(1)
	}
}

// captureOverAndOver changes a file of a folder and captures that, until it is killed.
func captureOverAndOver(ctx context.Context, dir string) error {
	w, err := jjbridge.Locate(ctx, dir, os.Environ())
	for i := 0; err == nil; i++ {
		if err = os.WriteFile(filepath.Join(dir, "counter"), fmt.Appendf(nil, "%d\n", i), 0o600); err != nil {
			break
		}
		var c *jjbridge.CapturedFiles
		if c, err = w.Capture(ctx, jjbridge.CaptureOptions{}); err == nil {
			fmt.Println(c.VCS.Tree)
			err = c.Close()
		}
	}
	return err
}

func TestAProcessThatIsKilledHindersNobody(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	for i := range 200 {
		repo.Write(fmt.Sprintf("many/%d", i), strconv.Itoa(i))
	}
	private := filepath.Join(repo.GitDir, "smithers", "worktrees", "git")
	for i := range 8 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(repo.Env, captureOnce+"="+repo.Dir)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		_, err = io.ReadFull(out, make([]byte, 1+i*37)) // it has begun, and is doing something or other
		require.NoError(t, err)
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait() // killed
		require.Equal(t, expected(t, repo), capturedAs(t, repo).Tree.String())
	}
	// What it may also leave behind:
	require.NoError(t, os.WriteFile(filepath.Join(private, "index.lock"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(private, "tracked.lock"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(private, "index.new"), []byte("half"), 0o600))
	require.NoError(t, os.MkdirAll(filepath.Join(private, "objects-1", "00"), 0o777))
	repo.Write("counter", "last\n")
	assert.Equal(t, expected(t, repo), capturedAs(t, repo).Tree.String())
	left, err := os.ReadDir(private)
	require.NoError(t, err)
	var names []string
	for _, file := range left {
		names = append(names, file.Name())
	}
	assert.Equal(t, []string{"changed", "lock", "state", "tracked"}, names)
}

func TestAQuarantineStaysUntilItIsClosed(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	w := workspace(t, repo)
	repo.Write("new", "1\n")
	first, err := w.Capture(t.Context(), jjbridge.CaptureOptions{})
	require.NoError(t, err)
	repo.Write("new", "2\n")
	second, err := w.Capture(t.Context(), jjbridge.CaptureOptions{})
	require.NoError(t, err)
	store(t, repo, first)
	store(t, repo, second)
	assert.Equal(t, "1", repo.Git("show", first.VCS.Tree.String()+":new"))
	assert.Equal(t, "2", repo.Git("show", second.VCS.Tree.String()+":new"))
}

func TestCapturesOfOneWorkingCopyWaitForEachOther(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, _ repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		repo.Write("new", "1\n")
		var wait sync.WaitGroup
		for range 4 {
			wait.Go(func() {
				c, err := workspace(t, repo).Capture(t.Context(), jjbridge.CaptureOptions{})
				if assert.NoError(t, err) {
					assert.NoError(t, c.Close())
				}
			})
		}
		wait.Wait()
		assert.Equal(t, expected(t, repo), capturedAs(t, repo).Tree.String())
	})
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	w := workspace(t, repo)
	unlock := jjbridge.LockForTest(t, w)
	defer unlock()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	go cancel(why)
	_, err := w.Capture(ctx, jjbridge.CaptureOptions{})
	assert.ErrorIs(t, err, context.Canceled)
}

// The user goes on working: every capture is one of the states that there were, and
// no command of the user's finds a lock of ours.
func TestACaptureWhileTheUserWorks(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		// git's own maintenance, beside a git that writes, may remove the empty folder which that one has just made for an object.
		repo.Git("config", "maintenance.auto", "false")
		done := make(chan struct{})
		var wait sync.WaitGroup
		wait.Go(func() {
			defer close(done)
			for i := range 15 {
				repo.Write("user", fmt.Sprintf("%d\n", i))
				commands := [][]string{{"add", "user"}, {"commit", "--quiet", "--message=user"}}
				if kind.IsJJ() {
					repo.JJ("describe", "--quiet", fmt.Sprintf("--message=%d", i))
					continue
				}
				for _, args := range commands {
					_, err := repo.GitErr(args...)
					assert.NoError(t, err)
				}
			}
		})
		for working := true; working; {
			select {
			case <-done:
				working = false
			default:
			}
			v := capturedAs(t, repo)
			assert.Subset(t, paths(repo, v), []string{"README.md", "notes/todo.txt", "src/main.go"})
		}
		wait.Wait()
		assert.Equal(t, expected(t, repo), capturedAs(t, repo).Tree.String())
		if kind.IsJJ() {
			assert.Equal(t, "14", repo.JJ("log", "--no-graph", "--revisions=@", "--template=description.first_line()"))
			assert.Empty(t, repo.JJ("log", "--no-graph", "--revisions=all()", `--template=if(divergent, change_id ++ "\n")`))
			return
		}
		assert.Equal(t, "16", repo.Git("rev-list", "--count", "HEAD"), "every commit of the user's, and no other")
		assert.Empty(t, repo.Git("status", "--porcelain"))
	})
}

// Files that come and go while they are read end in a tree that is whole.
func TestACaptureWhileFilesChange(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	stop := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			name := filepath.Join(repo.Dir, fmt.Sprintf("file%d", i%20))
			switch i % 3 {
			case 0:
				_ = os.WriteFile(name, fmt.Appendf(nil, "%0*d", i%100000, i), 0o600) // or is a folder
			case 1:
				_ = os.RemoveAll(name) // or is not there
			default:
				_ = os.MkdirAll(filepath.Join(name, "inner"), 0o700)                       // or is a file
				_ = os.WriteFile(filepath.Join(name, "inner", "file"), []byte("x"), 0o600) // or is a file
			}
		}
	})
	for range 15 {
		capturedAs(t, repo)
	}
	close(stop)
	wait.Wait()
	assert.Equal(t, expected(t, repo), capturedAs(t, repo).Tree.String())
}
