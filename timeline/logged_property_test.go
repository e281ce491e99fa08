package timeline_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/upkeep/prune"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// written is a repository to which a process writes, with a log or without, and now and then another process without one.
type written struct {
	t     testing.TB
	repo  *repotest.Repo
	logs  bool
	store *timeline.Store
	heads map[string]*timeline.Head
	forks []string
}

// at opens the repository for a process. All times are the same, so that ids depend on what is written alone.
func (w *written) at(logs bool) *timeline.Store {
	w.t.Helper()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s, err := timeline.Open(context.Background(), timeline.Options{
		Dir: w.repo.Dir, Env: append(w.repo.Env, "GIT_SMITHERS_JOURNAL=1", "GIT_SMITHERS_FSYNC=0"), Now: func() time.Time { return at }, Log: logs,
		Warn: func(err error) { w.t.Log(err) },
	})
	require.NoError(w.t, err)
	return s
}

// restart ends the process and begins another one.
func (w *written) restart() {
	w.end()
	w.store, w.heads = w.at(w.logs), make(map[string]*timeline.Head)
}

func (w *written) end() {
	if w.store != nil {
		require.NoError(w.t, w.store.Close())
	}
	w.store = nil
}

// append appends a draft to a run, which it begins if necessary.
func (w *written) append(s *timeline.Store, run string, draft snapshot.Draft) {
	heads := w.heads
	if s != w.store {
		heads = make(map[string]*timeline.Head)
	}
	head, err := heads[run], error(nil)
	if head == nil {
		if head, err = s.Head(w.t.Context(), run); err != nil {
			head, err = s.Create(w.t.Context(), snapshot.Run{ID: run, Status: snapshot.RunRunning}, snapshot.Draft{})
		}
		require.NoError(w.t, err)
		heads[run] = head
	}
	require.NoError(w.t, head.Update(w.t.Context(), func() (*snapshot.Draft, error) { return &draft, nil }))
}

// deed does something to the repository.
func (w *written) deed(kind, run string, n int) {
	frame := &snapshot.FrameDraft{State: []snapshot.Change{output("n", strconv.Itoa(n))}}
	switch kind {
	case "frame":
		w.append(w.store, run, snapshot.Draft{Frame: frame})
	case "entry":
		w.append(w.store, run, snapshot.Draft{Operation: "op " + strconv.Itoa(n)})
	case "large frame":
		frame.State = append(frame.State, output("large", strconv.Quote(strings.Repeat(strconv.Itoa(n), 300_000))))
		w.append(w.store, run, snapshot.Draft{Frame: frame})
	case "another process":
		other := w.at(false)
		w.append(other, run, snapshot.Draft{Frame: frame})
		require.NoError(w.t, other.Close())
	case "fork":
		if head, err := w.store.Head(w.t.Context(), run); err == nil {
			fork := fmt.Sprintf("%s-fork-%d", run, n)
			_, err = w.store.Fork(w.t.Context(), timeline.ForkRequest{From: fmt.Sprintf("%s:%d", run, head.Row().Frame), RunID: fork})
			require.NoError(w.t, err)
			w.append(w.store, fork, snapshot.Draft{Frame: frame})
			w.forks = append(w.forks, fork)
		}
	case "prune":
		if len(w.forks) == 0 {
			return
		}
		_, err := prune.New(w.store, prune.Options{}).Forget(w.t.Context(), prune.Policy{}, false, w.forks[0])
		require.NoError(w.t, err)
		delete(w.heads, w.forks[0])
		w.forks = w.forks[1:]
	case "restart":
		w.restart()
	case "wait":
		time.Sleep(30 * time.Millisecond)
	}
}

// A log is begun before its process finds that another process has moved the tip, and that there is nothing to log.
func TestALogToWhichNothingWasAppendedIsRemoved(t *testing.T) {
	t.Parallel()
	w := &written{t: t, repo: repotest.New(t), logs: true}
	w.restart()
	w.deed("frame", "a", 1)
	w.restart()
	w.deed("frame", "a", 2) // not logged: this process does not know the tip yet
	w.deed("another process", "a", 3)
	w.deed("frame", "a", 4)
	require.Len(t, logFiles(t, w.repo), 1)
	w.end()
	require.Empty(t, logFiles(t, w.repo))
	requireHealthy(t, w.repo)
}

// Whatever is written, with restarts, forks, prunes and other processes in between: the refs of a repository whose process logs are in the
// end those of one whose process does not, ids included.
func TestALogMakesNoDifferenceToWhatIsStored(t *testing.T) {
	t.Parallel()
	kinds := []string{"frame", "frame", "frame", "frame", "entry", "large frame", "another process", "fork", "prune", "restart", "wait"}
	count, used := 0, false
	repotest.Check(t, func(rt *rapid.T) {
		count++
		t.Run(strconv.Itoa(count), func(t *testing.T) {
			plain := &written{t: t, repo: repotest.New(t)}
			logged := &written{t: t, repo: repotest.New(t), logs: true}
			both := []*written{plain, logged}
			for _, w := range both {
				w.restart()
			}
			for n := range rapid.IntRange(1, 25).Draw(rt, "deeds") {
				kind, run := rapid.SampledFrom(kinds).Draw(rt, "kind"), rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "run")
				for _, w := range both {
					w.deed(kind, run, n)
				}
				used = used || len(logFiles(t, logged.repo)) > 0
			}
			for _, w := range both {
				w.end()
			}
			require.Equal(t, plain.repo.Git("for-each-ref", "refs/smithers"), logged.repo.Git("for-each-ref", "refs/smithers"))
			require.Empty(t, logFiles(t, logged.repo))
			requireHealthy(t, logged.repo)
		})
		if t.Failed() {
			rt.FailNow()
		}
	})
	require.True(t, used)
}
