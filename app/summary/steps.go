package summary

import (
	"cmp"
	"slices"
	"time"

	"github.com/git-smithers/git-smithers/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
)

// A Step is one task at one iteration: a node with its attempts. The steps are in the order of their first start; steps
// that have not started follow, in the order of the tasks of the rendered tree if the run has one, else by name.
type Step struct {
	snapshot.Node

	Attempts []*Attempt // in the order of their numbers
	// OpenNeeds names the needed steps that have not finished, for a step that has not started.
	OpenNeeds []string
	// Inherited reports whether the step has attempts, and all of them are from before the fork.
	Inherited bool
}

// An Attempt is an attempt of a step.
type Attempt struct {
	snapshot.Attempt

	// Inherited reports whether the attempt is from before the fork.
	Inherited bool
	// Wait reports whether the attempt is a wait for a person, a signal or a timer, and no work.
	Wait bool
	// EndMs is the end of the attempt, or now if it has not ended.
	EndMs int64
	// Lines is how many lines the files changed by from the frame before to the frame at which the attempt ended. It is nil if no
	// file changed or the number is unknown. Together reports whether other attempts ended at the same frame, so that the change may be theirs.
	Lines    *sqliteindex.Lines
	Together bool
}

// TookMs returns the length of the attempt in milliseconds.
func (a *Attempt) TookMs() int64 { return max(a.EndMs-a.StartedAtMs, 0) }

// Last returns the newest attempt of the step, or nil if it has none.
func (s *Step) Last() *Attempt {
	if len(s.Attempts) == 0 {
		return nil
	}
	return s.Attempts[len(s.Attempts)-1]
}

// StartMs returns the start of the first attempt, or 0 if the step has not started.
func (s *Step) StartMs() int64 {
	if len(s.Attempts) == 0 {
		return 0
	}
	return s.Attempts[0].StartedAtMs
}

// TookMs returns the time in which the attempts of the step worked, and the time in which they waited, in milliseconds.
func (s *Step) TookMs() (worked, waited int64) {
	for _, a := range s.Attempts {
		if a.Wait {
			waited += a.TookMs()
		} else {
			worked += a.TookMs()
		}
	}
	return worked, waited
}

// Lines returns how many lines the attempts of the step changed, or nil if they changed none.
func (s *Step) Lines() *sqliteindex.Lines {
	var sum *sqliteindex.Lines
	for _, a := range s.Attempts {
		if a.Lines == nil {
			continue
		}
		if sum == nil {
			sum = new(sqliteindex.Lines)
		}
		sum.Added += a.Lines.Added
		sum.Removed += a.Lines.Removed
	}
	return sum
}

// Name returns the name of the step in a text: the node id and, in a loop, the iteration.
func (s *Step) Name() string {
	if s.RalphID == nil && s.Iteration == 0 {
		return s.NodeID
	}
	return snapshot.Key(s.NodeID, s.Iteration)
}

// readSteps sets Steps, Attempts and the times of the run. state is the state at the newest entry.
func (sum *Summary) readSteps(s *timeline.Store, state *snapshot.State, now time.Time) error {
	steps := make(map[string]*Step)
	for n, err := range state.AllNodes() {
		if err != nil {
			return err
		}
		steps[snapshot.Key(n.NodeID, n.Iteration)] = &Step{Node: n}
	}
	if err := sum.readAttempts(s, state, now); err != nil {
		return err
	}
	for _, a := range sum.Attempts {
		key := snapshot.Key(a.NodeID, a.Iteration)
		step := steps[key]
		if step == nil { // the node was stepped over, or belongs to an older form of the workflow
			continue
		}
		step.Attempts = append(step.Attempts, a)
	}
	for _, step := range steps {
		slices.SortFunc(step.Attempts, func(a, b *Attempt) int { return cmp.Compare(a.Attempt.Attempt, b.Attempt.Attempt) })
		step.Inherited = len(step.Attempts) > 0 && !slices.ContainsFunc(step.Attempts, func(a *Attempt) bool { return !a.Inherited })
		step.OpenNeeds = openNeeds(step, steps)
		sum.Steps = append(sum.Steps, *step)
	}
	order := sum.taskOrder(s)
	slices.SortFunc(sum.Steps, func(a, b Step) int { return compareSteps(&a, &b, order) })
	sum.readTimes(now)
	return nil
}

// compareSteps compares two steps by their start. A step that has not started comes after all others. order has the
// position of each task in the rendered tree.
func compareSteps(a, b *Step, order map[string]int) int {
	started := func(s *Step) int {
		if len(s.Attempts) > 0 {
			return 0
		}
		return 1
	}
	position := func(s *Step) int {
		if at, ok := order[s.NodeID]; ok {
			return at
		}
		return len(order)
	}
	return cmp.Or(
		cmp.Compare(started(a), started(b)), cmp.Compare(a.StartMs(), b.StartMs()), cmp.Compare(position(a), position(b)),
		cmp.Compare(a.NodeID, b.NodeID), cmp.Compare(a.Iteration, b.Iteration),
	)
}

// openNeeds returns the ids of the needed nodes that have not finished, for a pending step. steps has the steps by key.
func openNeeds(step *Step, steps map[string]*Step) []string {
	if step.State != snapshot.NodePending {
		return nil
	}
	var open []string
	for _, id := range step.Needs {
		need := steps[snapshot.Key(id, step.Iteration)]
		if need == nil {
			need = steps[snapshot.Key(id, 0)]
		}
		if need == nil || need.State != snapshot.NodeFinished && need.State != snapshot.NodeSkipped {
			open = append(open, id)
		}
	}
	return open
}

// readAttempts sets Attempts.
func (sum *Summary) readAttempts(s *timeline.Store, state *snapshot.State, now time.Time) error {
	rows, err := sum.Entry.Attempts()
	if err != nil {
		return err
	}
	before, err := sum.inherited(s)
	if err != nil {
		return err
	}
	ended := make(map[int64]int) // the number of attempts that ended at a frame
	for row, err := range rows.Rows() {
		if err != nil {
			return err
		}
		a, err := snapshot.DecodeAttempt(row)
		if err == nil {
			a, err = sum.Entry.Renumber(a)
		}
		if err != nil {
			return err
		}
		attempt := &Attempt{Attempt: a, EndMs: now.UnixMilli()}
		if a.FinishedAtMs != nil {
			attempt.EndMs = *a.FinishedAtMs
		}
		if attempt.Wait, err = isWait(state, a); err != nil {
			return err
		}
		if before != nil {
			if _, attempt.Inherited, err = before.Get(row.Key); err != nil {
				return err
			}
		}
		if a.Frame != nil && !attempt.Inherited {
			ended[*a.Frame]++
		}
		sum.Attempts = append(sum.Attempts, attempt)
	}
	for _, a := range sum.Attempts {
		if a.Frame != nil && !a.Inherited {
			a.Lines, a.Together = sum.effects[*a.Frame].Lines, ended[*a.Frame] > 1
		}
	}
	slices.SortStableFunc(sum.Attempts, func(a, b *Attempt) int { return cmp.Compare(a.StartedAtMs, b.StartedAtMs) })
	return nil
}

// inherited returns the attempts that the run has from its parent, or nil if the run is not a fork.
func (sum *Summary) inherited(s *timeline.Store) (*page.Collection, error) {
	parent := sum.Row.Parent
	if parent == nil {
		return nil, nil
	}
	from := parent.Commit
	if !parent.Extension.IsZero() {
		from = parent.Extension
	}
	entry, err := snapshot.ReadEntry(s.Objects(), from)
	if err != nil {
		return nil, err
	}
	return entry.Attempts()
}

// isWait reports whether an attempt is a wait: its node waits, or has a row in the mailbox.
func isWait(state *snapshot.State, a snapshot.Attempt) (bool, error) {
	if snapshot.NodeState(a.State).Waiting() {
		return true, nil
	}
	key := snapshot.Key(a.NodeID, a.Iteration)
	for _, rows := range []*page.Collection{state.Approvals(), state.HumanRequests(), state.Waits()} {
		if _, ok, err := rows.Get(key); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// readTimes sets the times of the run from its own attempts. A run without attempts took the time between its first and
// its last frame.
func (sum *Summary) readTimes(now time.Time) {
	var work, wait spans
	for _, a := range sum.Attempts {
		if a.Inherited {
			continue
		}
		if a.Wait {
			wait = append(wait, span{a.StartedAtMs, a.EndMs})
		} else {
			work = append(work, span{a.StartedAtMs, a.EndMs})
		}
	}
	all := slices.Concat(work, wait).merged()
	work = work.merged()
	if len(all) == 0 {
		sum.StartMs, sum.EndMs = sum.Row.CreatedAtMs, sum.Entry.AtMs
		if frames := sum.Frames.Frames; len(frames) > 0 {
			sum.StartMs, sum.EndMs = frames[0].CreatedAtMs, frames[len(frames)-1].CreatedAtMs
		}
		sum.TookMs = max(sum.EndMs-sum.StartMs, 0)
		return
	}
	sum.StartMs, sum.EndMs = all[0].from, all[len(all)-1].to
	sum.TookMs = work.length()
	sum.WaitedMs = all.length() - sum.TookMs
}

// A span is a stretch of time in milliseconds since 1970.
type span struct{ from, to int64 }

// spans is a set of spans, which may overlap.
type spans []span

// merged returns the same time as spans that do not overlap, sorted.
func (s spans) merged() spans {
	slices.SortFunc(s, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var out spans
	for _, next := range s {
		next.to = max(next.to, next.from)
		if last := len(out) - 1; last >= 0 && next.from <= out[last].to {
			out[last].to = max(out[last].to, next.to)
			continue
		}
		out = append(out, next)
	}
	return out
}

// length returns the sum of the lengths of spans that do not overlap.
func (s spans) length() (sum int64) {
	for _, one := range s {
		sum += one.to - one.from
	}
	return sum
}
