package summary

import (
	"cmp"
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
)

// A Step is one task at one iteration: a node with its attempts. The steps are in the order of their first start; steps
// that have not started follow, in the order of the tasks of the rendered tree if the run has one, else by name.
type Step struct {
	NodeID    string             `json:"nodeId"`
	Iteration int                `json:"iteration"`
	Loop      *string            `json:"loop"` // nil if the task is in no loop
	State     snapshot.NodeState `json:"state"`
	// Inherited reports whether the step has attempts, and all of them are from before the fork.
	Inherited bool `json:"inherited"`
	// OpenNeeds names the needed tasks and loops that are not done, sorted, for a step that is pending.
	OpenNeeds []string `json:"openNeeds"`
	// OwnTookMs is the time in which attempts worked that are not inherited, and OwnWaitedMs the time in which they waited.
	OwnTookMs   int64      `json:"tookMs"`
	OwnWaitedMs int64      `json:"waitedMs"`
	LineCount              // of Lines
	Attempts    []*Attempt `json:"attempts"` // in the order of their numbers

	Label       *string  `json:"-"`
	Needs       []string `json:"-"` // node ids, sorted
	OutputTable string   `json:"-"` // "" if the step has no output
	LastAttempt *int     `json:"-"` // nil if the step has not begun, or was reset
}

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
			waited += a.TookMs
		} else {
			worked += a.TookMs
		}
	}
	return worked, waited
}

// Lines returns how many lines the attempts of the step changed, or nil if they changed none. The changes of attempts that are Together
// do not count: see [Summary.SharedChange].
func (s *Step) Lines() *sqliteindex.Lines {
	var sum *sqliteindex.Lines
	for _, a := range s.Attempts {
		if a.Lines == nil || a.Together {
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
	if s.Loop == nil && s.Iteration == 0 {
		return s.NodeID
	}
	return snapshot.Key(s.NodeID, s.Iteration)
}

// After returns the names of tasks and loops, such as Step.OpenNeeds, for people: "lint", or "loop work".
func (sum *Summary) After(needs []string) []string {
	names := slices.Clone(needs)
	for i, id := range names {
		if sum.Loop(id) != nil {
			names[i] = "loop " + id
		}
	}
	return names
}

// AwaitsPrompt reports whether the run is a session that has answered its last prompt and waits for the next.
func (sum *Summary) AwaitsPrompt() bool {
	if !sum.Session || sum.Row.Status != snapshot.RunRunning || len(sum.Steps) == 0 {
		return false
	}
	return !slices.ContainsFunc(sum.Steps, func(s Step) bool { return s.State == snapshot.NodeInProgress || s.State == snapshot.NodePending })
}

// readNodes sets Steps, without attempts, and Loops.
func (sum *Summary) readNodes(s *timeline.Store, state *snapshot.State) error {
	for n, err := range state.AllNodes() {
		if err != nil {
			return err
		}
		sum.Steps = append(sum.Steps, Step{
			NodeID: n.NodeID, Iteration: n.Iteration, Loop: n.RalphID, State: n.State, Label: n.Label, Needs: n.Needs, OutputTable: n.OutputTable,
			LastAttempt: n.LastAttempt, OpenNeeds: []string{}, Attempts: []*Attempt{},
		})
	}
	tree := sum.readTree(s)
	if err := sum.readLoops(state, tree); err != nil {
		return err
	}
	sum.order = tree.positions
	return nil
}

// arrange gives the steps their attempts and open needs, and puts them in order.
func (sum *Summary) arrange() {
	steps := make(map[string]*Step, len(sum.Steps))
	for i := range sum.Steps {
		steps[snapshot.Key(sum.Steps[i].NodeID, sum.Steps[i].Iteration)] = &sum.Steps[i]
	}
	for _, a := range sum.Attempts {
		// A node without a row was stepped over, or belongs to an older form of the workflow.
		if step := steps[snapshot.Key(a.NodeID, a.Iteration)]; step != nil {
			step.Attempts = append(step.Attempts, a)
		}
	}
	for _, step := range steps {
		slices.SortFunc(step.Attempts, func(a, b *Attempt) int { return cmp.Compare(a.Attempt.Attempt, b.Attempt.Attempt) })
		step.Inherited = len(step.Attempts) > 0 && !slices.ContainsFunc(step.Attempts, func(a *Attempt) bool { return !a.Inherited })
		step.OpenNeeds = sum.openNeeds(step, steps)
	}
	sum.sortSteps()
}

// sortSteps puts the steps in order. A step that has not started comes after all others. The iterations of a loop stand one after the
// other, and steps of one moment in the order of the rendered tree.
func (sum *Summary) sortSteps() {
	type place struct {
		waits           int // 1 for a step that has not started
		start           int64
		group, position int // of the loop, or of the task itself; of the task
		loop            string
		step            Step
	}
	position := func(id string) int {
		if at, ok := sum.order[id]; ok {
			return at
		}
		return len(sum.order)
	}
	places := make([]*place, len(sum.Steps))
	for i, s := range sum.Steps {
		p := &place{start: s.StartMs(), position: position(s.NodeID), loop: s.NodeID, step: s}
		if len(s.Attempts) == 0 {
			p.waits = 1
		}
		if s.Loop != nil {
			p.loop = *s.Loop
		}
		p.group = position(p.loop)
		places[i] = p
	}
	slices.SortFunc(places, func(a, b *place) int {
		return cmp.Or(
			cmp.Compare(a.waits, b.waits), cmp.Compare(a.start, b.start), cmp.Compare(a.group, b.group), cmp.Compare(a.loop, b.loop),
			cmp.Compare(a.step.Iteration, b.step.Iteration), cmp.Compare(a.position, b.position), cmp.Compare(a.step.NodeID, b.step.NodeID),
		)
	})
	for i, p := range places {
		sum.Steps[i] = p.step
	}
}

// openNeeds returns the ids of the needed tasks and loops that are not done, for a pending step. steps has the steps by key. A need
// of a task in another loop means the whole loop, whose id stands for its tasks.
func (sum *Summary) openNeeds(step *Step, steps map[string]*Step) []string {
	if step.State != snapshot.NodePending {
		return []string{}
	}
	open := []string{}
	for _, id := range step.Needs {
		need := steps[snapshot.Key(id, 0)]
		if need != nil && need.Loop != nil {
			around := maps.Collect(snapshot.LoopsAround(step.Loop, step.Iteration))
			if iteration, within := around[*need.Loop]; within {
				need = steps[snapshot.Key(id, iteration)]
			} else {
				for loop := range snapshot.LoopsAround(need.Loop, 0) { // the outermost that does not contain the step
					if _, within := around[loop]; within {
						break
					}
					id = loop
				}
				need = nil
			}
		}
		done := need != nil && (need.State == snapshot.NodeFinished || need.State == snapshot.NodeSkipped)
		if loop := sum.Loop(id); need == nil && loop != nil {
			done = loop.Done
		}
		if !done && !slices.Contains(open, id) {
			open = append(open, id)
		}
	}
	slices.Sort(open)
	return open
}

// count sets the sums of the steps, and the frames of their attempts.
func (sum *Summary) count() {
	for i := range sum.Steps {
		step := &sum.Steps[i]
		step.LineCount = countOf(step.Lines())
		for _, a := range step.Attempts {
			a.At, a.LineCount = sum.frameOf(a), countOf(a.Lines)
			switch {
			case a.Inherited:
			case a.Wait:
				step.OwnWaitedMs += a.TookMs
			default:
				step.OwnTookMs += a.TookMs
			}
		}
	}
}

// frameOf returns the frame of an attempt, see Attempt.At.
func (sum *Summary) frameOf(a *Attempt) *int64 {
	frames := sum.Frames.Frames
	switch {
	case a.Inherited:
		return nil
	case a.Frame != nil && sum.hasFrame(*a.Frame):
		return a.Frame
	case a.Frame != nil || a.FinishedAtMs == nil && !a.Wait || sum.Frames.All > len(frames):
		return nil
	}
	at := a.EndMs
	if a.FinishedAtMs == nil {
		at = a.StartedAtMs
	}
	i, _ := slices.BinarySearchFunc(frames, at, func(f list.FrameInfo, ms int64) int { return cmp.Compare(f.CreatedAtMs, ms) })
	if i == len(frames) || i+1 < len(frames) && frames[i+1].CreatedAtMs == frames[i].CreatedAtMs {
		return nil // none, or several of the same moment
	}
	return &frames[i].FrameNo
}
