package refs_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/refs/refstest"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
)

// The test binary becomes another process of ours when asked for in its
// environment.
const (
	envDir   = "REFS_TEST_DIR"   // the repository; makes it such a process
	envPoint = "REFS_TEST_POINT" // the failpoint at which it kills itself
	envGroup = "REFS_TEST_GROUP" // has it kill its process group with it
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(envDir); dir != "" {
		if err := serve(dir, os.Getenv(envPoint), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// serve answers each line "<name> <old> <new>…" with "won", "lost" or "locked".
func serve(dir, point string, in io.Reader, out io.Writer) error {
	found, err := gitexec.Discover(context.Background(), dir, os.Environ())
	if err != nil {
		return err
	}
	db, err := refs.Open(refs.Options{Repo: found, Env: os.Environ(), Failpoint: func(name string) error {
		if name == point && os.Getenv(envGroup) != "" {
			return syscall.Kill(0, syscall.SIGKILL)
		}
		if name == point {
			return syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		return nil
	}})
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		answer, err := apply(db, strings.Fields(lines.Text()))
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, answer); err != nil {
			return err
		}
	}
	return errors.Join(lines.Err(), db.Close())
}

func apply(db *refs.DB, words []string) (string, error) {
	var updates []refs.Update
	for ; len(words) >= 3; words = words[3:] {
		before, err1 := objstore.ParseID(words[1])
		after, err2 := objstore.ParseID(words[2])
		if err := errors.Join(err1, err2); err != nil {
			return "", err
		}
		updates = append(updates, refs.Update{Name: refs.Name(words[0]), Old: before, New: after})
	}
	switch err := db.Apply(context.Background(), updates...); {
	case err == nil:
		return "won", nil
	case errors.Is(err, refs.ErrConflict):
		return "lost", nil
	case errors.Is(err, refs.ErrLocked):
		return "locked", nil
	default:
		return "", err
	}
}

// process is another process of ours.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startProcess(t *testing.T, repo *repotest.Repo, point string) *process {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	p := &process{t: t, cmd: exec.CommandContext(t.Context(), exe)}
	p.cmd.Env = append(repo.Env, envDir+"="+repo.Dir, envPoint+"="+point)
	p.cmd.Stderr = os.Stderr
	p.in, err = p.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	p.out = bufio.NewReader(out)
	require.NoError(t, p.cmd.Start())
	return p
}

func (p *process) send(updates ...refs.Update) {
	p.t.Helper()
	var words []string
	for _, u := range updates {
		words = append(words, string(u.Name), u.Old.String(), u.New.String())
	}
	_, err := io.WriteString(p.in, strings.Join(words, " ")+"\n")
	require.NoError(p.t, err)
}

func (p *process) answer() string {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	require.NoError(p.t, err)
	return strings.TrimSpace(line)
}

func (p *process) end() error {
	p.t.Helper()
	require.NoError(p.t, p.in.Close())
	return p.cmd.Wait()
}

func TestProcessesRaceWithOneWinnerEach(t *testing.T) {
	t.Parallel()
	const rounds, processes = 25, 4
	repo := refstest.New(t)
	ids := refstest.Objects(t, repo, 1+rounds*(processes+1))
	tip := refstest.Tip(t, "run")
	repo.Git("update-ref", string(tip), ids[0].String())
	var all []*process
	for range processes {
		all = append(all, startProcess(t, repo, ""))
	}
	db := refstest.Open(t, repo, nil)
	at := ids[0]
	for round := range rounds {
		targets := ids[1+round*(processes+1):][:processes+1]
		frame := refstest.Frame(t, "run", int64(round))
		for i, p := range all {
			p.send(refs.Update{Name: tip, Old: at, New: targets[i]}, refs.Update{Name: frame, New: targets[i]})
		}
		wins := 0
		if _, err := repo.GitErr("update-ref", string(tip), targets[processes].String(), at.String()); err == nil {
			wins++
		}
		for _, p := range all {
			if p.answer() == "won" {
				wins++
			}
		}
		require.Equal(t, 1, wins)
		now, err := db.Resolve(t.Context(), tip)
		require.NoError(t, err)
		require.Contains(t, targets, now)
		at = now
	}
	for _, p := range all {
		require.NoError(t, p.end())
	}
	entries, err := os.ReadDir(repo.GitDir + "/smithers/locks")
	require.NoError(t, err)
	for _, entry := range entries {
		assert.NotContains(t, entry.Name(), "-", "who ends leaves no owner file")
	}
}

func TestCrashLeavesAPrefixAndNoLockForLong(t *testing.T) {
	t.Parallel()
	for point, moved := range map[string]struct{ tip, frame bool }{
		refs.FailRefsLocked:     {false, false},
		refs.FailBetweenRenames: {true, false},
		refs.FailRefsDone:       {true, true},
	} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			if point == refs.FailBetweenRenames {
				repotest.NeedsFiles(t) // in tables, one rename moves all refs
			}
			repo := refstest.New(t)
			ids := refstest.Objects(t, repo, 3)
			tip, frame := refstest.Tip(t, "run"), refstest.Frame(t, "run", 0)
			repo.Git("update-ref", string(tip), ids[0].String())
			want := func(moved bool, before, after objstore.ID) objstore.ID {
				if moved {
					return after
				}
				return before
			}
			var zero objstore.ID

			p := startProcess(t, repo, point)
			p.send(refs.Update{Name: tip, Old: ids[0], New: ids[1]}, refs.Update{Name: frame, New: ids[1]})
			var killed *exec.ExitError
			require.ErrorAs(t, p.end(), &killed)
			require.Equal(t, -1, killed.ExitCode())

			db := refstest.Open(t, repo, nil)
			refstest.Want(t, repo, db, tip, want(moved.tip, ids[0], ids[1]))
			refstest.Want(t, repo, db, frame, want(moved.frame, zero, ids[1]))

			// The next writer, whichever it is, finds nothing in its way.
			native := refstest.Open(t, repo, func(o *refs.Options) { o.NativeOnly = true })
			require.NoError(t, native.Apply(t.Context(),
				refs.Update{Name: tip, Old: want(moved.tip, ids[0], ids[1]), New: ids[2]},
				refs.Update{Name: frame, Old: want(moved.frame, zero, ids[1]), New: ids[2]}))
			require.NoError(t, db.RecoverLocks(t.Context()))
			assert.Empty(t, refstest.Locks(t, repo))
			repo.Git("update-ref", string(tip), ids[0].String(), ids[2].String())
		})
	}
}

func TestRecoverLocksRemovesWhatADeadProcessLeft(t *testing.T) {
	t.Parallel()
	repotest.NeedsFiles(t)
	repo := refstest.New(t)
	ids := refstest.Objects(t, repo, 2)
	tip := refstest.Tip(t, "run")
	p := startProcess(t, repo, refs.FailRefsLocked)
	p.send(refs.Update{Name: tip, New: ids[0]})
	require.Error(t, p.end())
	require.Len(t, refstest.Locks(t, repo), 1)
	_, err := repo.GitErr("update-ref", string(tip), ids[0].String())
	require.ErrorContains(t, err, "File exists", "git is locked out")

	db := refstest.Open(t, repo, nil)
	require.NoError(t, db.RecoverLocks(t.Context()))

	assert.Empty(t, refstest.Locks(t, repo))
	repo.Git("update-ref", string(tip), ids[0].String())
}

// A lock of reftables stops every ref, so a command that only reads removes it, too.
func TestTheTablesAreFreedFromADeadProcess(t *testing.T) {
	t.Parallel()
	if repotest.RefFormat() == "files" {
		t.Skip("refs in files have locks of their own")
	}
	repo := refstest.New(t)
	ids := refstest.Objects(t, repo, 1)
	p := startProcess(t, repo, refs.FailRefsLocked)
	p.send(refs.Update{Name: refstest.Tip(t, "run"), New: ids[0]})
	require.Error(t, p.end())
	_, err := repo.GitErr("update-ref", "refs/tags/theirs", ids[0].String())
	require.ErrorContains(t, err, "cannot lock", "git is locked out")

	require.NoError(t, refstest.Open(t, repo, nil).FreeTables(t.Context()))

	repo.Git("update-ref", "refs/tags/theirs", ids[0].String())
}
