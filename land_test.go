package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
)

// landing is a working copy of some kind, with the run "r" whose changes are to land.
type landing struct {
	*repotest.Repo
	t       *testing.T
	kind    repotest.Kind
	program string
	env     []string
}

// landFlow changes a line, adds a file and removes another.
const landFlow = `name: flow
tasks:
  - {id: one, run: "sed 's/^2$/two/' list >l && mv l list; echo new >new; rm gone"}
`

// newLanding makes the run in the working copy of repo, goes back to the commit, and goes on with another one, which
// changes the line text of list.
func newLanding(t *testing.T, kind repotest.Kind, repo *repotest.Repo, line, text string) *landing {
	t.Helper()
	l := &landing{Repo: repo, t: t, kind: kind, program: filepath.Join(t.TempDir(), "git-smithers")}
	linkSmithers(t, l.program)
	l.env = append(slices.Clone(repo.Env), "GIT_SMITHERS_FSYNC=0", "GIT_SMITHERS_WORKTREE=all", "GORACE=atexit_sleep_ms=0")
	repo.Write("list", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")
	repo.Write("keep", "keep\n")
	repo.Write("gone", "gone\n")
	repo.Write("flow.yaml", landFlow)
	l.commit("base")
	l.must("run", "flow.yaml", "--run-id", "r", "--quiet")
	l.reset()
	list, err := os.ReadFile(filepath.Join(repo.Dir, "list"))
	require.NoError(t, err)
	repo.Write("list", strings.Replace(string(list), line+"\n", text+"\n", 1))
	l.commit("moved")
	repo.Write("keep", "keep\nmine\n")
	repo.Write("loose", "loose\n")
	return l
}

// commit commits all files.
func (l *landing) commit(message string) {
	if l.kind.IsJJ() {
		l.JJ("commit", "--quiet", "-m", message)
		return
	}
	l.Git("add", "--all")
	l.Git("commit", "--quiet", "-m", message)
}

// reset takes back all changes that are not committed.
func (l *landing) reset() {
	if l.kind.IsJJ() {
		l.JJ("restore", "--quiet")
		return
	}
	l.Git("reset", "--quiet", "--hard")
	l.Git("clean", "--quiet", "-f", "-d")
}

// call runs git-smithers. status is -1 if it was killed.
func (l *landing) call(args ...string) (status int, out string) {
	cmd := exec.CommandContext(l.t.Context(), l.program, args...)
	cmd.Dir, cmd.Env = l.Dir, l.env
	text, _ := cmd.CombinedOutput() // the status says what the error does
	return cmd.ProcessState.ExitCode(), string(text)
}

// must runs git-smithers, which must succeed.
func (l *landing) must(args ...string) string {
	l.t.Helper()
	status, out := l.call(args...)
	require.Equal(l.t, 0, status, "%v: %s", args, out)
	return out
}

// stand describes what a landing may change: the files, the commit, the branches and the index.
func (l *landing) stand() string {
	l.t.Helper()
	var out strings.Builder
	require.NoError(l.t, filepath.WalkDir(l.Dir, func(path string, entry os.DirEntry, err error) error {
		if entry.IsDir() && (entry.Name() == ".git" || entry.Name() == ".jj") {
			return filepath.SkipDir
		}
		if err != nil || entry.IsDir() || entry.Name() == ".git" {
			return err
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(&out, "%s %q\n", strings.TrimPrefix(path, l.Dir), data)
		return err
	}))
	if l.kind.IsJJ() {
		// A change that was fresh is another fresh change after an undo.
		out.WriteString(l.JJ("log", "--no-graph", "-r", "all()", "-T", `description ++ "|" ++ if(conflict, "conflict") ++ self.bookmarks() ++ "\n"`))
		out.WriteString(l.JJ("diff", "--summary"))
		return out.String()
	}
	for _, args := range [][]string{
		{"symbolic-ref", "HEAD"}, {"for-each-ref", "refs/heads"}, {"ls-files", "--stage"}, {"status", "--porcelain"},
	} {
		out.WriteString(l.Git(args...) + "\n")
	}
	return out.String()
}

// landed checks that the run's changes are there, beside those of the commit and of the files.
func (l *landing) landed() {
	l.t.Helper()
	for name, want := range map[string]string{
		"list": "1\ntwo\n3\n4\n5\n6\n7\n8\nnine\n", "new": "new\n", "keep": "keep\nmine\n", "loose": "loose\n",
	} {
		data, err := os.ReadFile(filepath.Join(l.Dir, name))
		require.NoError(l.t, err)
		assert.Equal(l.t, want, string(data), name)
	}
	assert.NoFileExists(l.t, filepath.Join(l.Dir, "gone"))
}

func TestARunLandsInEveryWorkingCopy(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		l := newLanding(t, kind, repo, "9", "nine")
		before := l.stand()
		for _, mode := range []string{"--apply", "--commit"} {
			l.must("land", "r", mode)
			l.landed()
			assert.NotEqual(t, before, l.stand(), mode)
			l.must("undo")
			assert.Equal(t, before, l.stand(), mode)
		}
		l.must("land", "r", "--branch", "topic")
		assert.NotEqual(t, before, l.stand())
		l.must("undo")
		assert.Equal(t, before, l.stand())
		l.must("land", "r", "--commit")
		l.landed()
		assert.Contains(t, l.must("land", "r", "--commit"), "nothing to land")
		l.must("verify")
	})
}

func TestAConflictIsTakenBackInEveryWorkingCopy(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		l := newLanding(t, kind, repo, "2", "deux")
		before := l.stand()
		for _, back := range [][]string{{"land", "--abort"}, {"undo"}} {
			status, out := l.call("land", "r", "--commit")
			require.Equal(t, 1, status, out)
			assert.Contains(t, out, "1 file in conflict")
			list, err := os.ReadFile(filepath.Join(l.Dir, "list"))
			require.NoError(t, err)
			assert.Contains(t, string(list), "<<<<<<<")
			if !kind.IsJJ() {
				assert.Contains(t, l.Git("status", "--porcelain"), "UU list")
				assert.Contains(t, l.Git("ls-files", "--unmerged"), " 1\tlist\n")
				status, out := l.call("land", "r")
				assert.Equal(t, 11, status, out)
			}
			l.must(back...)
			assert.Equal(t, before, l.stand(), back)
		}
		status, out := l.call("land", "r", "--branch", "topic")
		assert.Equal(t, 1, status, out)
		assert.Equal(t, before, l.stand())
		status, out = l.call("land", "--abort")
		assert.Equal(t, 10, status, out)
		l.must("verify")
	})
}

// programs puts a git and a jj before the real ones. Each call of one counts, and script runs for it: it can use $n, the
// number of the call, and "$real".
func (l *landing) programs(script string) (count string) {
	l.t.Helper()
	dir := l.t.TempDir()
	count = filepath.Join(dir, "count")
	for _, name := range []string{"git", "jj"} {
		found, err := exec.LookPath(name)
		if name == "jj" {
			if !l.kind.IsJJ() {
				continue
			}
			found, err = repotest.LookJJ(l.t), nil
		}
		require.NoError(l.t, err)
		repotest.WriteProgram(l.t, filepath.Join(dir, name), "#!/bin/sh\necho >>'"+count+"'\nn=$(($(wc -l <'"+count+"')))\nreal='"+found+"'\n"+script)
	}
	for i, entry := range l.env {
		if path, ok := strings.CutPrefix(entry, "PATH="); ok {
			l.env[i] = "PATH=" + dir + string(filepath.ListSeparator) + path
		}
	}
	l.env = append(l.env, "SMITHERS_JJ_PATH="+filepath.Join(dir, "jj"))
	if !l.kind.IsJJ() {
		l.env = l.env[:len(l.env)-1]
	}
	return count
}

// killing kills git-smithers before or after the call that the environment names.
const killing = `test "$n" != "$KILL_BEFORE" || { kill -9 $PPID; exit 1; }
"$real" "$@"
status=$?
test "$n" != "$KILL_AFTER" || kill -9 $PPID
exit $status
`

// The process is killed before and after each call of git and of jj. What is left is taken back as a whole, or was not
// begun; and then the run lands.
func TestALandingThatIsKilledIsTakenBack(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		l := newLanding(t, kind, repo, "9", "nine")
		count := l.programs(killing)
		before := l.stand()
		calls := func() int {
			text, err := os.ReadFile(count)
			require.NoError(t, err)
			return len(text)
		}
		l.must("land", "r", "--commit")
		all := calls()
		l.must("undo")
		env := l.env
		step := 1
		if !repotest.Soaks() && kind != repotest.Git {
			step = 3
		}
		killed, begun := 0, 0
		for _, variable := range []string{"KILL_BEFORE", "KILL_AFTER"} {
			for n := 1; n <= all; n += step {
				require.NoError(t, os.Remove(count))
				l.env = append(slices.Clone(env), variable+"="+strconv.Itoa(n))
				status, out := l.call("land", "r", "--commit")
				l.env = env
				if status == -1 {
					killed++
				}
				back := []string{"land", "--abort"}
				if n/step%2 == 0 {
					back = []string{"undo"}
				}
				switch status, aborted := l.call(back...); status {
				case 0:
					begun++
				case 10: // not begun; or done, and not taken back by --abort
					if now := l.stand(); now != before {
						l.must("undo")
					}
				default:
					t.Fatalf("%s=%d: land: %s\nabort: %d %s", variable, n, out, status, aborted)
				}
				require.Equal(t, before, l.stand(), "%s=%d: %s", variable, n, out)
			}
		}
		t.Logf("%d calls, %d kills, %d landings were taken back", all, killed, begun)
		assert.Greater(t, begun, 3)
		l.must("land", "r", "--commit")
		l.landed()
		l.must("verify")
	})
}

// An undo is killed before and after each call of git and of jj. The next undo finishes it.
func TestAnUndoOfALandingThatIsKilledGoesOn(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		l := newLanding(t, kind, repo, "9", "nine")
		count := l.programs(killing)
		before := l.stand()
		land := func() string {
			out := l.must("land", "r", "--commit", "--quiet")
			require.NoError(t, os.Remove(count))
			return strings.TrimSpace(out)
		}
		run := land()
		l.must("undo", run)
		text, err := os.ReadFile(count)
		require.NoError(t, err)
		env, half := l.env, 0
		step := 1
		if !repotest.Soaks() {
			step = 3
		}
		for _, variable := range []string{"KILL_BEFORE", "KILL_AFTER"} {
			for n := 1; n <= len(text); n += step {
				run := land()
				landed := l.stand()
				l.env = append(slices.Clone(env), variable+"="+strconv.Itoa(n))
				_, out := l.call("undo", run)
				l.env = env
				if now := l.stand(); now != before && now != landed {
					half++
				}
				if status, again := l.call("undo", run); status != 0 {
					require.Equal(t, 10, status, "%s=%d: %s%s", variable, n, out, again) // it was done
				}
				require.Equal(t, before, l.stand(), "%s=%d: %s", variable, n, out)
			}
		}
		t.Logf("%d calls, %d kills left half of an undo", len(text), half)
		l.must("verify")
	})
}

// A git before 2.38 has no merge-tree --write-tree.
func TestALandingNeedsNoMergeTree(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"clean": "9", "conflict": "2"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLanding(t, repotest.Git, repotest.New(t, repotest.Commit), text, "other")
			asked := filepath.Join(t.TempDir(), "asked")
			before := l.stand()
			statusWith, _ := l.call("land", "r")
			with := l.stand()
			l.must("undo")
			l.programs(`case " $* " in *" merge-tree "*) echo asked >'` + asked + `'; exit 129;; esac
exec "$real" "$@"
`)
			status, out := l.call("land", "r")
			assert.FileExists(t, asked)
			assert.Equal(t, statusWith, status, out)
			assert.Equal(t, with, l.stand())
			l.must("undo")
			assert.Equal(t, before, l.stand())
		})
	}
}
