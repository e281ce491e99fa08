package timeline_test

import (
	"context"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/repotest"
)

// restoreUntilKilled restores frame 0, and kills itself at the time told by the
// environment that it comes by the named point: the first is for the frame that keeps
// the files, the second for the one that records the restore.
func restoreUntilKilled() {
	nth, err := strconv.Atoi(os.Getenv(countVariable))
	must(err)
	s := openHere(killAt(nth))
	_, err = files.Restore(context.Background(), s, files.RestoreRequest{From: "run:0"})
	must(err)
}

// Wherever the process dies, what was in the working copy is there still, or in a frame
// of the run; and the restore can be done again.
func TestAKilledRestoreLosesNoWork(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"after-pack-temp", "after-idx-rename", "before-refs", "between-renames", "refs-done"} {
		for _, nth := range []string{"1", "2"} {
			t.Run(point+"-"+nth, func(t *testing.T) {
				t.Parallel()
				needsPoint(t, point)
				repo := repotest.New(t, repotest.Commit)
				s := open(t, repo)
				original := filesIn(t, repo.Dir)
				startRun(t, s, "run")
				work(t, repo)
				worked := filesIn(t, repo.Dir)
				cmd := again(t.Context(), repo, "restore", pointVariable+"="+point, countVariable+"="+nth)
				require.ErrorContains(t, cmd.Run(), "killed")

				if nth == "1" {
					assert.Equal(t, worked, filesIn(t, repo.Dir), "nothing is restored before it is saved")
				} else {
					assert.Equal(t, original, filesIn(t, repo.Dir))
				}
				_, err := files.Restore(t.Context(), s, files.RestoreRequest{From: "run:0"})
				require.NoError(t, err)
				assert.Equal(t, original, filesIn(t, repo.Dir))
				_, err = files.Restore(t.Context(), s, files.RestoreRequest{From: "run:1"})
				require.NoError(t, err)
				assert.Equal(t, worked, filesIn(t, repo.Dir))
			})
		}
	}
}
