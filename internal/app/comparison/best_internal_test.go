package comparison

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/snapshot"
)

// runWith returns a run as far as rank looks at it. score is JSON, or "" for a run without the value.
func runWith(status snapshot.RunStatus, score string, lines, tookMs int64) *Run {
	r := &Run{Summary: &summary.Summary{Row: snapshot.Run{Status: status}, Code: summary.Code{Added: lines}, TookMs: tookMs}, Outputs: make(map[string]json.RawMessage)}
	if score != "" {
		r.Outputs["v.s"] = json.RawMessage(score)
	}
	return r
}

func TestTheBestRunIsSaidWithTheReason(t *testing.T) {
	t.Parallel()
	const finished, waiting, failed, running = snapshot.RunFinished, snapshot.RunWaitingHuman, snapshot.RunFailed, snapshot.RunRunning
	by := &Column{"v", []string{"s"}}
	for _, c := range []struct {
		name    string
		by      *Column
		runs    []*Run
		best    []int
		equal   []int
		decided string
	}{
		{"the highest value", by, []*Run{runWith(finished, "0.5", 1, 1), runWith(failed, "0.9", 9, 9)}, []int{1}, []int{0, 1}, ByValue},
		{"a run without a value is behind", by, []*Run{runWith(finished, "", 1, 1), runWith(finished, "-7", 9, 9)}, []int{1}, []int{0, 1}, ByValue},
		{"true is above false", by, []*Run{runWith(finished, "false", 1, 1), runWith(finished, "true", 9, 9)}, []int{1}, []int{0, 1}, ByValue},
		{"nobody has a value", by, []*Run{runWith(finished, "", 1, 1), runWith(finished, `"9"`, 9, 9)}, nil, nil, ""},
		{"finished before waiting", by, []*Run{runWith(waiting, "1", 1, 1), runWith(finished, "1.0", 9, 9), runWith(finished, "0", 1, 1)}, []int{1}, []int{0, 1}, ByStatus},
		{"waiting before running", nil, []*Run{runWith(running, "", 1, 1), runWith(waiting, "", 9, 9)}, []int{1}, []int{0, 1}, ByStatus},
		{"all waits are alike", nil, []*Run{runWith(snapshot.RunWaitingTimer, "", 2, 1), runWith(waiting, "", 1, 9)}, []int{1}, []int{0, 1}, ByLines},
		{"then fewer lines", nil, []*Run{runWith(finished, "", 2, 1), runWith(finished, "", 1, 9)}, []int{1}, []int{0, 1}, ByLines},
		{"then shorter", nil, []*Run{runWith(finished, "", 1, 9), runWith(finished, "", 1, 8), runWith(failed, "", 0, 0)}, []int{1}, []int{0, 1}, ByDuration},
		{"equal runs", nil, []*Run{runWith(finished, "", 1, 9), runWith(finished, "", 1, 9)}, []int{0, 1}, nil, ""},
		{"no run has come anywhere", nil, []*Run{runWith(failed, "", 1, 9), runWith(running, "", 1, 9)}, nil, nil, ""},
		{"one run", nil, []*Run{runWith(finished, "", 1, 9)}, nil, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := &Comparison{Runs: c.runs, By: c.by}
			got.rank(false)
			assert.Equal(t, c.best, got.Best)
			assert.Equal(t, c.equal, got.Equal)
			assert.Equal(t, c.decided, got.Decided)
		})
	}
}

// A failed variant of a sweep cannot be landed, so it is not its best either, whatever its value.
func TestOnlyRunsThatHaveFinishedAreTheBestOfASweep(t *testing.T) {
	t.Parallel()
	failed, finished := runWith(snapshot.RunFailed, "2", 0, 0), runWith(snapshot.RunFinished, "1", 0, 0)
	c := &Comparison{Runs: []*Run{failed, finished}, By: &Column{"v", []string{"s"}}}
	c.rank(true)
	assert.Equal(t, []int{1}, c.Best)
	c = &Comparison{Runs: []*Run{failed, failed}, By: &Column{"v", []string{"s"}}}
	c.rank(true)
	assert.Empty(t, c.Best)
}

// The best runs do not depend on the order of the runs, and no run is better than they are.
func TestTheOrderOfRunsDecidesNothing(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	statuses := snapshot.RunStatuses()
	for range 500 {
		runs := make([]*Run, 2+r.IntN(6))
		for i := range runs {
			runs[i] = runWith(statuses[r.IntN(len(statuses))], []string{"", "1", "2"}[r.IntN(3)], r.Int64N(2), r.Int64N(2))
		}
		by := &Column{"v", []string{"s"}}
		if r.IntN(2) == 0 {
			by = nil
		}
		bestOf := func(runs []*Run) []*Run {
			c := &Comparison{Runs: runs, By: by}
			c.rank(false)
			var best []*Run
			for _, i := range c.Best {
				best = append(best, runs[i])
			}
			return best
		}
		turned := slices.Clone(runs)
		r.Shuffle(len(turned), func(i, j int) { turned[i], turned[j] = turned[j], turned[i] })
		assert.ElementsMatch(t, bestOf(runs), bestOf(turned))
	}
}
