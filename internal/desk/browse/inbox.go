package browse

import (
	"context"
	"slices"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/snapshot"
)

// A Request is something that a run waits for.
type Request struct {
	summary.Ask

	Run, Name string // the run's id, and its name for people
}

// maxWaitingRuns is the largest number of waiting runs of which an inbox reads the requests.
const maxWaitingRuns = 200

// Inbox returns what runs wait for: first what waits for a person, then signals and timers, each oldest first.
func (r *Reader) Inbox(ctx context.Context) ([]Request, error) {
	runs, err := list.Runs(ctx, r.Store)
	if err != nil {
		return nil, err
	}
	var out []Request
	read := 0
	for _, info := range runs {
		if !snapshot.RunStatus(info.Status).Waiting() || read == maxWaitingRuns {
			continue
		}
		read++
		run, err := r.Run(ctx, info.RunID, -1)
		if err != nil {
			r.Store.Warn(err)
			continue
		}
		for _, ask := range run.Asks {
			out = append(out, Request{ask, run.Row.ID, nameOf(info)})
		}
	}
	slices.SortStableFunc(out, func(a, b Request) int {
		if a.ForPerson() != b.ForPerson() {
			if a.ForPerson() {
				return -1
			}
			return 1
		}
		return int(sinceOf(a) - sinceOf(b))
	})
	return out, nil
}

// ForPerson reports whether a person answers the request.
func (r *Request) ForPerson() bool { return r.For == "approval" || r.For == "human" }

// sinceOf returns when a request was made.
func sinceOf(r Request) int64 {
	if r.SinceMs == nil {
		return 0
	}
	return *r.SinceMs
}

// nameOf returns the label of a fork, or the id of a run.
func nameOf(info list.RunInfo) string {
	if info.BranchLabel != nil && *info.BranchLabel != "" {
		return *info.BranchLabel
	}
	return info.RunID
}
