package timeline_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/upkeep/verify"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// seriesUntilKilled makes the runs "run-0", "run-1" and so on, each by a series of several packs that is
// gone on with once. It prints "run tip" for each that was acknowledged.
func seriesUntilKilled() {
	nth, err := strconv.Atoi(os.Getenv(countVariable))
	must(err)
	s := openHere(killAt(nth))
	for i := range 100 {
		id := "run-" + strconv.Itoa(i)
		series, err := timeline.NewSeries(context.Background(), s, seriesRow(id), nil)
		must(err)
		series.FlushAt(1)
		head := appendSeries(series, 0)
		fmt.Println(id, head.Entry().ID)
		series.Close()
		series = timeline.SeriesOf(head)
		series.FlushAt(1)
		fmt.Println(id, appendSeries(series, seriesFrames).Entry().ID)
		series.Close()
	}
}

// seriesFrames is how many frames seriesUntilKilled appends at once.
const seriesFrames = 4

// appendSeries appends frames from a number on, and commits them.
func appendSeries(series *timeline.Series, from int) *timeline.Head {
	for i := range seriesFrames {
		_, err := series.Append(context.Background(), seriesFrame(from+i))
		must(err)
	}
	head, err := series.Commit(context.Background())
	must(err)
	return head
}

func TestAKilledSeriesIsThereWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	for _, at := range []struct {
		point string
		nth   int
	}{
		{"after-pack-temp", 10}, {"after-idx-rename", 11}, // in a pack before the last of the third series
		{"after-pack-rename", 12}, {"after-idx-rename", 16}, {"before-refs", 3}, // in the last one
		{"refs-locked", 5}, {"between-renames", 7}, {"refs-done", 5}, // between refs of the tip's transaction
		{"between-renames", 8}, {"refs-done", 6}, // at the frame refs that follow
		{"merge-after-rename", 2}, {"merge-between-removes", 2},
	} {
		t.Run(fmt.Sprintf("%s %d", at.point, at.nth), func(t *testing.T) {
			t.Parallel()
			needsPoint(t, at.point)
			repo := repotest.New(t, repotest.Commit)
			acknowledged := killed(t, repo, "series", at.point, countVariable+"="+strconv.Itoa(at.nth))
			there := make(map[string]string)
			for _, line := range acknowledged {
				id, tip, _ := strings.Cut(line, " ")
				there[id] = tip
			}
			s := open(t, repo)
			report, err := verify.Runs(t.Context(), s)
			require.NoError(t, err)
			assert.Empty(t, report.Problems)
			named := len(strings.Fields(repo.Git("for-each-ref", "--format=%(refname)", "refs/smithers/run-*/*")))
			assert.Equal(t, report.Frames-named, report.Unnamed, "verify mentions what was left out")
			for i := range len(there) + 1 {
				id := "run-" + strconv.Itoa(i)
				head, err := s.Head(t.Context(), id)
				if there[id] == "" && fault.CodeOf(err) == fault.RunNotFound {
					continue
				}
				require.NoError(t, err)
				if tip := there[id]; tip != "" && head.Entry().ID.String() != tip {
					repo.Git("merge-base", "--is-ancestor", tip, head.Entry().ID.String())
				}
				assert.Zero(t, (head.Row().Frame+1)%seriesFrames, "no part of a series is there")
				assert.Equal(t, head.Entry().ID.String(), repo.Git("rev-parse", fmt.Sprintf("refs/smithers/%s/%d", id, head.Row().Frame)))
				frames := strings.Fields(repo.Git("for-each-ref", "--format=%(refname)", "refs/smithers/"+id))
				assert.Len(t, frames, int(head.Row().Frame)+1, "whoever opens the run makes the frame refs that were left out")
			}
			repo.Git(repotest.Fsck(repo.GitDir)...)
			requireHealthy(t, repo)
			last := "run-" + strconv.Itoa(len(there))
			if _, err := s.Head(t.Context(), last); err == nil {
				return
			}
			series, err := timeline.NewSeries(t.Context(), s, seriesRow(last), nil)
			require.NoError(t, err)
			defer series.Close()
			addFrames(t, series, 0, seriesFrames-1)
			_, err = series.Commit(t.Context())
			require.NoError(t, err, "it can be done again")
		})
	}
}
