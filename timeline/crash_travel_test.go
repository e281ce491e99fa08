package timeline_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/back/travel"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
)

// travelUntilKilled travels with files, and kills itself at the time told by the
// environment that it comes by the named point. Its entries are the claim, the frame that
// keeps the files, and the one that records the travel.
func travelUntilKilled() {
	nth, err := strconv.Atoi(os.Getenv(countVariable))
	must(err)
	must(os.WriteFile(filepath.Join(os.Getenv("HOME"), "travel.pid"), []byte(strconv.Itoa(os.Getpid())), 0o666))
	s := openHere(killAt(nth))
	_, err = travel.Travel(context.Background(), s, travel.Request{Run: "run", Node: "b"})
	must(err)
}

// Wherever the process dies, the run is the one before or the one after, what was in the
// working copy is there still or in a frame, and the travel can be done again.
func TestAKilledTravelLeavesTheRunAsItWasOrAsItIsToBe(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"after-pack-temp", "after-idx-rename", "before-refs", "between-renames", "refs-done"} {
		for entry := 1; entry <= 3; entry++ {
			nth := entry
			if point == "between-renames" {
				nth-- // the claim moves one ref
			}
			if nth == 0 {
				continue
			}
			t.Run(point+"-"+strconv.Itoa(entry), func(t *testing.T) {
				t.Parallel()
				needsPoint(t, point)
				repo := repotest.New(t, repotest.Commit)
				s := open(t, repo)
				afterA, _, _ := worked(t, s, repo)
				repo.Write("mine.txt", "in no frame\n")
				unsaved := filesIn(t, repo.Dir)
				old, attempts := stateAt(t, s, "run").ID(), attemptsAt(t, s, "run")
				cmd := again(t.Context(), repo, "travel", pointVariable+"="+point, countVariable+"="+strconv.Itoa(nth))
				require.ErrorContains(t, cmd.Run(), "killed")

				went := entry == 3 && (point == "between-renames" || point == "refs-done")
				if went {
					assert.Equal(t, stateAt(t, s, "run:2").ID(), stateAt(t, s, "run").ID())
					assert.Equal(t, snapshot.RunPending, rowAt(t, s, "run").Status)
				} else {
					assert.Equal(t, old, stateAt(t, s, "run").ID())
					assert.Equal(t, attempts, attemptsAt(t, s, "run"))
					assert.Equal(t, snapshot.RunFinished, rowAt(t, s, "run").Status)
				}
				if entry < 3 {
					assert.Equal(t, unsaved, filesIn(t, repo.Dir), "nothing is restored before it is saved")
				} else {
					assert.Equal(t, afterA, filesIn(t, repo.Dir))
				}

				_, err := travel.Travel(t.Context(), s, travel.Request{Run: "run", Node: "b"})
				require.NoError(t, err, "nobody owns a run whose process is dead")
				assert.Equal(t, afterA, filesIn(t, repo.Dir))
				assert.Equal(t, stateAt(t, s, "run:2").ID(), stateAt(t, s, "run").ID())
				assert.Empty(t, rowAt(t, s, "run").Owner)
				_, err = files.Restore(t.Context(), s, files.RestoreRequest{From: "run:7"})
				require.NoError(t, err)
				assert.Equal(t, unsaved, filesIn(t, repo.Dir))
			})
		}
	}
}

// A filter of the user's kills the process while git writes the files: some are those of
// then by now, and others are not.
func TestATravelThatIsKilledBetweenTwoFilesCanBeDoneAgain(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Git("config", "filter.half.clean", "cat")
	repo.Git("config", "filter.half.smudge", "cat")
	repo.Git("config", "filter.half.required", "true")
	repo.Write(".gitattributes", "*.half filter=half\n")
	repo.Write("f.half", "before\n")
	s := open(t, repo)
	afterA, _, _ := worked(t, s, repo)
	repo.Write("f.half", "in no frame\n")
	unsaved, old := filesIn(t, repo.Dir), stateAt(t, s, "run").ID()
	repo.Git("config", "filter.half.smudge", "echo $PPID >~/git.pid; kill -KILL $(cat ~/travel.pid); exit 1")
	cmd := again(t.Context(), repo, "travel", pointVariable+"=never", countVariable+"=1")
	require.ErrorContains(t, cmd.Run(), "killed")
	pid, err := os.ReadFile(filepath.Join(repo.Home, "git.pid"))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		state, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(pid)), "stat"))
		return err != nil || strings.Contains(string(state), ") Z ")
	}, time.Minute, 10*time.Millisecond, "git ends by itself")

	assert.Equal(t, old, stateAt(t, s, "run").ID())
	assert.Equal(t, snapshot.RunFinished, rowAt(t, s, "run").Status)
	kinds, _ := eventsOf(t, repo, "run")
	assert.Equal(t, []string{"TimeTravelStarted"}, kinds)
	repo.Git("config", "filter.half.smudge", "cat")
	_, err = travel.Travel(t.Context(), s, travel.Request{Run: "run", Node: "b"})
	require.NoError(t, err)
	assert.Equal(t, afterA, filesIn(t, repo.Dir))
	assert.Equal(t, stateAt(t, s, "run:2").ID(), stateAt(t, s, "run").ID())
	_, err = files.Restore(t.Context(), s, files.RestoreRequest{From: "run:7"})
	require.NoError(t, err)
	assert.Equal(t, unsaved, filesIn(t, repo.Dir))
}
