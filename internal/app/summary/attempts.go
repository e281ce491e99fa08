package summary

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
)

// An Attempt is an attempt of a step.
type Attempt struct {
	snapshot.Attempt `json:"-"`

	Number int    `json:"attempt"`
	State  string `json:"state"`
	Error  string `json:"error,omitempty"`
	// Inherited reports whether the attempt ended before the fork, Earlier whether it began before.
	Inherited bool `json:"inherited"`
	Earlier   bool `json:"-"`
	// Wait reports whether the attempt is a wait for a person, a signal or a timer, and no work.
	Wait        bool  `json:"wait"`
	StartedAtMs int64 `json:"startedAtMs"`
	TookMs      int64 `json:"tookMs"` // the part before a fork does not count for the fork
	// EndMs is the end of the attempt. If the attempt has not ended, EndMs is now or, if no process runs it any more, the time of the
	// newest entry.
	EndMs int64 `json:"-"`
	// At is the frame of the run's timeline at which the attempt ended or, if it waits, began to wait; nil if the frame is unknown, as
	// that of an attempt that the run has from its parent.
	At *int64 `json:"frame"`
	// Changed reports whether files changed in the working copy of the attempt, from its files before to the frame at which the
	// attempt ended. Lines is how many lines changed; nil if no file changed or the number is unknown. Together reports whether
	// other attempts in the same working copy ended at the same frame or were running then, so that the change may be theirs.
	Changed bool               `json:"changed"`
	Lines   *sqliteindex.Lines `json:"-"`
	LineCount
	Together bool `json:"together"`

	beganMs int64 // the start or, if the attempt began before the fork and ended in it, the time of the fork
}

// A LineCount is a number of changed lines; both are nil if no line changed or the number is unknown.
type LineCount struct {
	Added   *int64 `json:"linesAdded"`
	Removed *int64 `json:"linesRemoved"`
}

// countOf returns the count of lines, which may be nil.
func countOf(l *sqliteindex.Lines) LineCount {
	if l == nil {
		return LineCount{}
	}
	return LineCount{&l.Added, &l.Removed}
}

// readAttempts sets Attempts, without the changes of files.
func (sum *Summary) readAttempts(s *timeline.Store, state *snapshot.State, now time.Time) error {
	before, err := sum.attemptsBefore(s)
	if err != nil {
		return err
	}
	end := now.UnixMilli()
	if sum.Stale || sum.Row.Status != snapshot.RunRunning {
		end = min(end, sum.Entry.AtMs) // nobody has worked since
	}
	defer func() {
		slices.SortStableFunc(sum.Attempts, func(a, b *Attempt) int { return cmp.Compare(a.StartedAtMs, b.StartedAtMs) })
	}()
	for a, err := range sum.Entry.AllAttempts() {
		if err == nil {
			a, err = sum.Entry.Renumber(a)
		}
		if err != nil {
			return err
		}
		attempt := &Attempt{Attempt: a, Number: a.Attempt, State: a.State, Error: a.Error, StartedAtMs: a.StartedAtMs, EndMs: end, beganMs: a.StartedAtMs}
		if a.FinishedAtMs != nil {
			attempt.EndMs = *a.FinishedAtMs
		}
		if attempt.Wait, err = IsWait(state, a); err != nil {
			return err
		}
		if attempt.Wait && a.FinishedAtMs == nil && !sum.Row.Status.Ended() {
			attempt.EndMs = now.UnixMilli() // a wait needs no process
		}
		if err := attempt.inherit(before, snapshot.AttemptKey(a.NodeID, a.Iteration, a.Attempt), sum.Row.Parent); err != nil {
			return err
		}
		attempt.TookMs = max(attempt.EndMs-attempt.beganMs, 0)
		sum.Attempts = append(sum.Attempts, attempt)
	}
	return nil
}

// attemptsBefore returns the attempts of the frame from which the run was forked, or nil if the run is not a fork.
func (sum *Summary) attemptsBefore(s *timeline.Store) (*page.Collection, error) {
	if sum.Row.Parent == nil {
		return nil, nil
	}
	entry, err := snapshot.ReadEntry(s.Objects(), sum.Row.Parent.Commit)
	if err != nil {
		return nil, err
	}
	return entry.Attempts()
}

// inherit sets Inherited, Earlier and beganMs. before has the attempts of the frame from which the run was forked, nil if it is not a fork.
// key is the key of the attempt.
func (a *Attempt) inherit(before *page.Collection, key string, parent *snapshot.Parent) error {
	if before == nil {
		return nil
	}
	value, ok, err := before.Get(key)
	if err != nil || !ok {
		return err
	}
	was, err := snapshot.DecodeAttempt(page.Row{Key: key, Value: value})
	if err != nil || was.StartedAtMs != a.StartedAtMs { // a session that its agent has forked begins afresh
		return err
	}
	a.Earlier = true
	if a.Inherited = was.FinishedAtMs != nil; !a.Inherited {
		a.beganMs = max(a.beganMs, parent.AtMs)
	}
	return err
}

// IsWait reports whether an attempt is a wait: its node waits, or has a row in the mailbox and ran no process.
func IsWait(state *snapshot.State, a snapshot.Attempt) (bool, error) {
	if snapshot.NodeState(a.State).Waiting() {
		return true, nil
	}
	if a.ExitStatus != nil {
		return false, nil
	}
	key := snapshot.Key(a.NodeID, a.Iteration)
	for _, rows := range []*page.Collection{state.Approvals(), state.HumanRequests(), state.Waits()} {
		if _, ok, err := rows.Get(key); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// readChanges sets Changed, Lines and Together of the run's own attempts.
func (sum *Summary) readChanges(ctx context.Context, s *timeline.Store) error {
	type place struct {
		frame    int64
		worktree string
	}
	ended := make(map[place]int)
	own := false
	for _, a := range sum.Attempts {
		if a.Frame != nil && !a.Inherited {
			ended[place{*a.Frame, a.Worktree}]++
			own = own || a.Worktree != ""
		}
	}
	for _, a := range sum.Attempts {
		if a.Frame == nil || a.Inherited {
			continue
		}
		a.Together = ended[place{*a.Frame, a.Worktree}] > 1 || len(a.Beside) > 0
		if a.Worktree == "" {
			effect := sum.effects[*a.Frame]
			a.Changed, a.Lines = effect.Changed, effect.Lines
		}
	}
	if !own {
		return nil
	}
	return sum.readOwnChanges(ctx, s)
}

// A SharedChange is how files changed while several attempts ran in one working copy: which of them changed the files is unknown.
type SharedChange struct {
	Frames []int64           // the frames at which files changed, sorted
	Lines  sqliteindex.Lines // as far as they are counted
}

// SharedChange returns the changes of attempts that are Together, or nil if there are none.
func (sum *Summary) SharedChange() *SharedChange {
	var out SharedChange
	type change struct {
		frame    int64
		worktree string
	}
	seen := make(map[change]bool)
	for _, a := range sum.Attempts {
		if !a.Together || !a.Changed || seen[change{*a.Frame, a.Worktree}] {
			continue
		}
		seen[change{*a.Frame, a.Worktree}] = true
		if !slices.Contains(out.Frames, *a.Frame) {
			out.Frames = append(out.Frames, *a.Frame)
		}
		if a.Lines != nil {
			out.Lines.Added += a.Lines.Added
			out.Lines.Removed += a.Lines.Removed
		}
	}
	if out.Frames == nil {
		return nil
	}
	slices.Sort(out.Frames)
	return &out
}

// readOwnChanges sets Changed and Lines of the attempts that worked in worktrees of their own. The files before an attempt are those
// after the attempt before it in the same worktree or, for the first one, those with which the worktree began.
func (sum *Summary) readOwnChanges(ctx context.Context, s *timeline.Store) error {
	attempts := slices.DeleteFunc(slices.Clone(sum.Attempts), func(a *Attempt) bool {
		return a.Frame == nil || a.Worktree == "" || a.Tree.IsZero() || !a.Inherited && !sum.hasFrame(*a.Frame)
	})
	// The frames of the parent have other numbers, and come first.
	slices.SortStableFunc(attempts, func(a, b *Attempt) int {
		return cmp.Or(cmp.Compare(boolToInt(!a.Inherited), boolToInt(!b.Inherited)), cmp.Compare(*a.Frame, *b.Frame))
	})
	files := make(map[string]objstore.ID) // by worktree: its files after the attempts so far
	pairs := make(map[*Attempt]sqliteindex.TreePair)
	var all []sqliteindex.TreePair
	for _, a := range attempts {
		before, known := files[a.Worktree]
		files[a.Worktree] = a.Tree
		if a.Inherited {
			continue
		}
		if !known {
			var err error
			if before, err = sum.worktreeStart(ctx, s, a); err != nil {
				return err
			}
		}
		if before.IsZero() || before == a.Tree {
			continue
		}
		a.Changed = true
		pairs[a] = sqliteindex.TreePair{From: before, To: a.Tree}
		all = append(all, pairs[a])
	}
	known, err := list.LinesOf(ctx, s, &sum.Frames, all)
	for a, pair := range pairs {
		if lines, ok := known[pair]; ok {
			a.Lines = &lines
		}
	}
	return err
}

// worktreeStart returns the files with which the own worktree of an attempt began, or the zero id if they are unknown.
func (sum *Summary) worktreeStart(ctx context.Context, s *timeline.Store, a *Attempt) (objstore.ID, error) {
	at, err := s.Load(ctx, timeline.Address{Run: sum.Row.ID, Frame: *a.Frame}.String())
	if err != nil {
		return objstore.ID{}, err
	}
	v, err := at.Entry.VCSRevision()
	own := files.WorktreeOf(v, a.Worktree)
	if err != nil || own == nil {
		return objstore.ID{}, timeline.Explain(err)
	}
	return files.WorktreeStart(s.Objects(), v, own), nil
}

// hasFrame reports whether the timeline of the run has a frame.
func (sum *Summary) hasFrame(number int64) bool {
	_, ok := sum.effects[number]
	return ok || sum.Frames.All > len(sum.Frames.Frames) // then no frame was dropped
}

// boolToInt returns 1 for true and 0 for false.
func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
