// Package retention prunes sessions of coding agents by their age: nobody else would, since a session is made by working. It follows
// smithers.session.keep, and prunes nothing else.
package retention

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/flock"
	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/upkeep/prune"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

const (
	// idleUntilEnded is the time without a hook after which a session counts as ended: its agent was killed.
	idleUntilEnded = 24 * time.Hour
	// collectAfter is the time after which the objects of a pruned session are deleted. Until then it can be brought back.
	collectAfter = 7 * 24 * time.Hour
	// roundEvery is the time between two rounds.
	roundEvery = 24 * time.Hour
)

// Session is what retention does with a session.
type Session struct {
	RunID string `json:"runId"`
	// Kept says why the session stays, whatever its age: "" if it does not.
	Kept string `json:"kept,omitempty"`
	// PrunedAtMs is when the session is pruned, or was. It is nil if the session stays.
	PrunedAtMs *int64 `json:"prunedAtMs"`
	Ended      bool   `json:"ended"` // the session was found to have ended
	Pruned     bool   `json:"pruned"`
}

// Result is the result of a round.
type Result struct {
	Sessions  []Session `json:"sessions"`
	Collected []string  `json:"collected"` // the ids of the pruned sessions whose objects were deleted
}

// Plan returns what the next rounds do with each session, and changes nothing.
func Plan(ctx context.Context, s *timeline.Store) ([]Session, error) {
	sessions, forked, remote, err := read(ctx, s)
	if err != nil {
		return nil, err
	}
	out := make([]Session, len(sessions))
	for i, one := range sessions {
		out[i] = judge(s, one, forked, remote)
	}
	return out, nil
}

// Round ends the sessions whose agents were killed, prunes those that have ended longer ago than smithers.session.keep, and deletes the
// objects of those that a round has pruned a week ago. Code: locked if another process is at it.
func Round(ctx context.Context, s *timeline.Store) (*Result, error) {
	lock := flock.New(filepath.Join(folder(s), "retention.lock"))
	if err := os.MkdirAll(folder(s), 0o700); err != nil {
		return nil, timeline.Explain(err)
	}
	if ours, err := lock.TryLock(); err != nil {
		return nil, timeline.Explain(err)
	} else if !ours {
		return nil, fault.New(fault.Locked, "another process is pruning sessions").Hint("try again when that process has ended")
	}
	defer lock.Close() //nolint:errcheck // the end of the process unlocks the file, too
	rec, err := readRecord(s)
	if err != nil {
		return nil, err
	}
	sessions, forked, remote, err := read(ctx, s)
	if err != nil {
		return nil, err
	}
	out := &Result{Sessions: []Session{}, Collected: []string{}}
	var errs []error
	for _, one := range sessions {
		done := judge(s, one, forked, remote)
		errs = append(errs, apply(ctx, s, &done, rec))
		out.Sessions = append(out.Sessions, done)
	}
	out.Collected, err = collect(ctx, s, rec)
	rec.RoundAtMs = s.Now().UnixMilli()
	return out, errors.Join(append(errs, err, rec.write(s))...)
}

// read returns the sessions, the ids of all runs that were forked, and those of the runs that are at a remote.
func read(ctx context.Context, s *timeline.Store) (sessions []agent.SessionInfo, forked, remote map[string]bool, err error) {
	if sessions, err = agent.Sessions(ctx, s); err != nil {
		return nil, nil, nil, err
	}
	runs, err := list.Runs(ctx, s)
	if err != nil {
		return nil, nil, nil, err
	}
	forked = make(map[string]bool)
	for _, run := range runs {
		if run.ParentRunID != nil {
			forked[*run.ParentRunID] = true
		}
	}
	remote, err = atRemotes(ctx, s)
	return sessions, forked, remote, err
}

// atRemotes returns the ids of the runs that were pushed or fetched. Others have them, and the tombstone of a pruned run goes to a remote with the
// next push: that is no matter of age.
func atRemotes(ctx context.Context, s *timeline.Store) (map[string]bool, error) {
	out, err := gitexec.New(s.Repo(), s.Env()).Run(ctx, "for-each-ref", "--format=%(refname)", "refs/smithers-remote/")
	if err != nil {
		return nil, timeline.Explain(err)
	}
	runs := make(map[string]bool)
	for ref := range strings.FieldsSeq(string(out)) {
		if run, ok, err := refs.UnescapeRun(path.Base(ref)); err == nil && ok {
			runs[run] = true
		}
	}
	return runs, nil
}

// judge returns what the next round does with a session.
func judge(s *timeline.Store, one agent.SessionInfo, forked, remote map[string]bool) Session {
	out := Session{RunID: one.RunID}
	now, newest := s.Now(), time.UnixMilli(one.UpdatedAtMs)
	ended := snapshot.RunStatus(one.Status).Ended()
	if at := one.FinishedAtMs; ended && at != nil {
		newest = time.UnixMilli(*at)
	}
	// A word about a stranger's session would split it from that of the remote.
	out.Ended = !ended && now.Sub(newest) >= idleUntilEnded && agent.IsRecordedHere(s, one.RunID)
	within := s.Settings().Session.Keep
	switch {
	case newest.After(now):
		out.Kept = "is dated in the future"
	case !ended && !out.Ended:
		out.Kept = "has not ended"
	case within == 0:
		out.Kept = "smithers.session.keep is never"
	case one.IsLabelled():
		out.Kept = "has a label"
	case forked[one.RunID]:
		out.Kept = "was forked"
	case remote[one.RunID]:
		out.Kept = "is at a remote"
	default:
		at := newest.Add(within).UnixMilli()
		out.PrunedAtMs, out.Pruned = &at, at <= now.UnixMilli()
	}
	return out
}

// apply does with a session what judge has said. A session that got a new frame meanwhile stays for the next round.
func apply(ctx context.Context, s *timeline.Store, one *Session, rec *record) error {
	if one.Ended {
		err := agent.EndIdle(ctx, s, one.RunID)
		if fault.CodeOf(err) == fault.Conflict {
			one.Ended, one.Pruned = false, false
			return nil
		}
		if err != nil {
			return err
		}
	}
	if !one.Pruned {
		return nil
	}
	if _, err := prune.New(s, prune.Options{}).Forget(ctx, prune.Policy{}, false, one.RunID); err != nil {
		one.Pruned = false
		return fmt.Errorf("prune session %s: %w", one.RunID, err)
	}
	rec.Pruned[one.RunID] = s.Now().UnixMilli()
	return errors.Join(agent.RemoveTags(ctx, s, one.RunID), rec.write(s))
}

// collect deletes the objects of the sessions that a round has pruned long enough ago, and returns their ids.
func collect(ctx context.Context, s *timeline.Store, rec *record) ([]string, error) {
	runs := []string{}
	for run, at := range rec.Pruned {
		if s.Now().Sub(time.UnixMilli(at)) >= collectAfter {
			runs = append(runs, run)
		}
	}
	if len(runs) == 0 {
		return runs, nil
	}
	got, err := prune.New(s, prune.Options{}).CollectRuns(ctx, runs...)
	if err != nil {
		return []string{}, err
	}
	for _, run := range runs {
		delete(rec.Pruned, run)
	}
	collected := []string{}
	for _, run := range got.Runs {
		collected = append(collected, run.RunID)
	}
	return collected, nil
}

// Recall brings a session back that a round has pruned, because its agent goes on with it. If no round has pruned it, Recall returns
// run_pruned: somebody did it on purpose.
func Recall(ctx context.Context, s *timeline.Store, run string) error {
	rec, err := readRecord(s)
	if err != nil {
		return err
	}
	if rec.Pruned[run] == 0 {
		return fault.New(fault.RunPruned, "run %q was pruned, so the session is not recorded any more", run).
			Hint("`%s prune --undo %s` brings it back", fault.Program, fault.Word(run))
	}
	if _, err := prune.New(s, prune.Options{}).Recall(ctx, run); err != nil {
		return err
	}
	delete(rec.Pruned, run)
	return rec.write(s)
}
