package app

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/back/land"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// The names of the newest runs of a working copy. :FRAME, :turn:N, :CALL or @ID may follow each of them.
const (
	NewestName        = "@"        // of any kind
	NewestSessionName = "@session" // the newest session of a coding agent
	NewestRunName     = "@run"     // the newest run that is not a session
)

// SplitNewest splits a text that names a newest run into the name, and the frame of that run. @ID is a frame of NewestName. ok is false if the
// text names no newest run.
func SplitNewest(text string) (name, frame string, ok bool) {
	for _, name := range []string{NewestSessionName, NewestRunName, NewestName} {
		rest, has := strings.CutPrefix(text, name)
		switch {
		case !has:
		case rest == "":
			return name, "", true
		case len(rest) > 1 && (rest[0] == ':' || rest[0] == '@'):
			return name, rest[1:], true
		}
	}
	if id, has := strings.CutPrefix(text, NewestName); has && !strings.ContainsAny(id[:1], ":@") {
		return NewestName, id, true
	}
	return "", "", false
}

// A NewestRun is a run that a name such as @ means.
type NewestRun struct {
	ID       string
	Workflow string
	Session  bool
	AtMs     int64 // when its newest entry was made, in milliseconds since 1970
	// Other is the newest run of the other kind here, or nil. Only NewestName can mean either of two.
	Other *NewestRun
}

// Newest returns the run that the name means: of those that were started, continued, forked, captured or imported in the working copy, the last
// one; of the sessions, that whose hooks ran last. For NewestName, it is the one of these two with the newer entry. If the working copy has no such
// run, the run is the one of the repository with the newest entry. Landings, runs that others have called, forks that were undone and courses that have not begun are
// never meant. Code: run_not_found.
func Newest(ctx context.Context, s *timeline.Store, name string) (*NewestRun, error) {
	var found []*NewestRun
	if name != NewestRunName {
		if id := agent.Here(ctx, s); id != "" {
			found = append(found, newestAt(s.Head(ctx, id)))
		}
	}
	if name != NewestSessionName {
		for _, id := range list.Here(s) {
			if run := newestAt(s.Head(ctx, id)); run != nil && !run.Session {
				found = append(found, run)
				break
			}
		}
	}
	found = slices.DeleteFunc(found, func(run *NewestRun) bool { return run == nil })
	if len(found) == 0 {
		return newestOfAll(ctx, s, name)
	}
	if len(found) == 2 && found[0].AtMs <= found[1].AtMs { // a run that began within a turn is the newer one
		slices.Reverse(found)
	}
	if len(found) == 2 {
		found[0].Other = found[1]
	}
	return found[0], nil
}

// IsLanding reports whether a run with this id and this workflow is the record of a landing.
func IsLanding(id, workflow string) bool {
	return strings.HasPrefix(id, land.Prefix) && workflow == land.Workflow
}

// newestAt describes a run at its head. It takes what the functions return that find a head, and returns nil if Newest never means the run.
func newestAt(head *timeline.Head, err error) *NewestRun {
	if err != nil {
		return nil
	}
	row := head.Row()
	if row.Caller != nil || row.Parent != nil && row.Parent.Undone || IsLanding(row.ID, row.Workflow) {
		return nil
	}
	return &NewestRun{ID: row.ID, Workflow: row.Workflow, Session: agent.IsSession(head.Entry()), AtMs: head.Entry().AtMs}
}

// newestOfAll returns the run of the repository with the newest entry that the name can mean. Code: run_not_found.
func newestOfAll(ctx context.Context, s *timeline.Store, name string) (*NewestRun, error) {
	runs, err := list.Runs(ctx, s)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(runs, func(a, b list.RunInfo) int { return cmp.Compare(b.UpdatedAtMs, a.UpdatedAtMs) })
	for _, info := range runs {
		run := newestAt(list.HeadOf(s, info))
		switch {
		case run == nil, run.Session && info.Status == string(snapshot.RunPending): // a course that has not begun
		case name == NewestName, run.Session == (name == NewestSessionName):
			return run, nil
		}
	}
	if name == NewestSessionName {
		return nil, fault.New(fault.RunNotFound, "no session of a coding agent was recorded in this repository").
			Hint("`git smithers session enable` records sessions from then on")
	}
	return nil, fault.New(fault.RunNotFound, "this repository has no run that %s can mean", name).Hint("`git smithers run WORKFLOW` starts a run")
}
