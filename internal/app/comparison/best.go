package comparison

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/git-smithers/git-smithers/snapshot"
)

// The reasons for which runs are ahead of others, in the order in which they are asked for.
const (
	ByValue    = "by"       // the value of Options.By is higher
	ByStatus   = "status"   // the run has finished, or waits where others have failed
	ByLines    = "lines"    // fewer lines have changed
	ByDuration = "duration" // the run took less time
)

// A Ranking says which runs are best.
type Ranking struct {
	// Best are the indices of the best runs: several if they are equal in everything that is asked for, and none if no run has
	// finished or waits, or none has a value to compare by.
	Best []int
	// Equal are the indices of the runs that are as good as the best in everything that was asked before Decided, sorted.
	Equal   []int
	Decided string // the last reason that told runs apart; "" if none did
}

// rank ranks the runs or, with finished, those that have finished. There is no best of fewer than two runs.
func (c *Comparison) rank(finished bool) {
	if len(c.Runs) < 2 {
		return
	}
	left := make([]int, 0, len(c.Runs))
	for i, run := range c.Runs {
		if !finished || run.Row.Status == snapshot.RunFinished {
			left = append(left, i)
		}
	}
	if len(left) == 0 {
		return
	}
	questions := []struct {
		reason string
		value  func(*Run) float64 // higher is better
	}{
		{ByValue, func(r *Run) float64 { return c.score(r) }},
		{ByStatus, func(r *Run) float64 { return standing(r.Row.Status) }},
		{ByLines, func(r *Run) float64 { return -float64(r.Code.Added + r.Code.Removed) }},
		{ByDuration, func(r *Run) float64 { return -float64(r.TookMs) }},
	}
	for _, q := range questions {
		highest := math.Inf(-1)
		for _, i := range left {
			highest = max(highest, q.value(c.Runs[i]))
		}
		switch {
		case q.reason == ByValue && math.IsInf(highest, -1):
			return
		case q.reason == ByStatus && c.By == nil && highest < waits:
			return
		}
		ahead := slices.DeleteFunc(slices.Clone(left), func(i int) bool { return q.value(c.Runs[i]) < highest })
		if len(ahead) < len(left) {
			c.Equal, c.Decided = left, q.reason
		}
		left = ahead
	}
	c.Best = left
}

// score returns the value by which runs are compared. It is -Inf if the run has none, or the value is neither a number nor
// true or false, and 0 if nobody asked for a value.
func (c *Comparison) score(r *Run) float64 {
	if c.By == nil {
		return 0
	}
	if n, ok := Number(r.Outputs[c.By.String()]); ok {
		return n
	}
	return math.Inf(-1)
}

// Number returns the number that a JSON value is. true is 1, and false is 0.
func Number(value json.RawMessage) (float64, bool) {
	switch string(value) {
	case "true":
		return 1, true
	case "false":
		return 0, true
	case "null", "":
		return 0, false
	}
	var n float64
	return n, json.Unmarshal(value, &n) == nil
}

// standing returns how far a run with a status has come: higher is better.
func standing(status snapshot.RunStatus) float64 {
	switch status {
	case snapshot.RunFinished:
		return 5
	case snapshot.RunWaitingApproval, snapshot.RunWaitingHuman, snapshot.RunWaitingEvent, snapshot.RunWaitingTimer:
		return waits
	case snapshot.RunRunning:
		return 3
	case snapshot.RunPending:
		return 2
	case snapshot.RunFailed:
		return 1
	case snapshot.RunCancelled:
	}
	return 0
}

// waits is the standing of a run that waits.
const waits = 4
