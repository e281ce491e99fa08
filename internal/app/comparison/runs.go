package comparison

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// MaxRuns is the largest number of runs that Runs compares.
const MaxRuns = 500

// Options says what Runs compares.
type Options struct {
	// ForksOf is the id of a run or a unique prefix: the run and its forks, and their forks, are compared before the named
	// runs. "" means none.
	ForksOf string
	// By is the output whose highest value is best, as table.member, or an expression of package stateexpr; "" means none.
	By string
	// Outputs are the outputs to compare, as table.member. If there are none, Runs chooses the short values of the last steps.
	Outputs []string
	// Finished leaves out of the ranking the runs that have not finished: these cannot be landed as the best of a sweep.
	Finished bool
	// Scores has further scores of runs, by the ids of the runs and the names of the scorers, in the place of their own: a group has scored them.
	Scores map[string]map[string]float64

	Now      time.Time
	Progress func(done, total int) // may be nil
}

// A Comparison has runs side by side. The first run is the base.
type Comparison struct {
	Runs []*Run
	By   *Column // nil if nobody asked for a value to compare by; its Table is the text of an expression
	// Inputs are the names of members of inputs, and Outputs the columns of outputs, that are compared. InputsLeft and OutputsLeft
	// count those that were left out because there are many.
	Inputs                  []string
	Outputs                 []Column
	InputsLeft, OutputsLeft int
	Ranking

	computed bool // By is an expression, whose values are in the outputs of the runs
}

// A Run is a run in a Comparison.
type Run struct {
	*summary.Summary

	// Depth is 0 for a run that was named, and for the run of Options.ForksOf; 1 for its forks, 2 for forks of these, and so on.
	Depth  int
	First  First                      // where it first differs from the base; zero for the base
	Inputs map[string]json.RawMessage // the members of its input
	// Outputs has the value of each column of Comparison.Outputs, by Column.String: that of the newest row of the table. A run
	// without the value has no element.
	Outputs map[string]json.RawMessage
	// Failed is the number of failed attempts, with those from before the fork.
	Failed int
	Name   *agent.Name // nil if the run is not a session
}

// Runs compares the runs with the given ids or unique prefixes. A run that is named twice is in the result once. A fork that
// cannot be read is left out with a warning. The codes are run_not_found, limit_exceeded above MaxRuns, and those of
// unreadable data.
func Runs(ctx context.Context, s *timeline.Store, names []string, o Options) (*Comparison, error) {
	chosen, err := chooseRuns(ctx, s, names, o.ForksOf)
	if err != nil {
		return nil, err
	}
	out := new(Comparison)
	var base *course
	for i, run := range chosen {
		if o.Progress != nil {
			o.Progress(i, len(chosen))
		}
		sum, err := summary.Read(ctx, s, run.id, o.Now)
		if err == nil {
			addGiven(sum, o.Scores[run.id])
		}
		if err == nil {
			base, err = out.add(ctx, s, sum, run.depth, base)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil && run.depth > 0 {
			s.Warn(err)
			continue
		}
		if err != nil {
			return nil, err
		}
	}
	if err := out.chooseValues(s, o); err != nil {
		return nil, timeline.Explain(err)
	}
	out.rank(o.Finished)
	return out, nil
}

// A choice is a run to compare.
type choice struct {
	id    string
	depth int
}

// chooseRuns returns the runs to compare, each once: the run forksOf with its forks, unless forksOf is "", and the named runs.
func chooseRuns(ctx context.Context, s *timeline.Store, names []string, forksOf string) ([]choice, error) {
	var chosen choices
	if forksOf != "" {
		id, err := s.ResolveRun(ctx, forksOf)
		if err == nil {
			err = chosen.addWithForks(ctx, s, choice{id, 0})
		}
		if err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		id, err := s.ResolveRun(ctx, name)
		if err == nil {
			err = chosen.add(choice{id, 0})
		}
		if err != nil {
			return nil, err
		}
	}
	return chosen.list, nil
}

// choices are the runs to compare.
type choices struct{ list []choice }

// has reports whether the run is chosen already.
func (c *choices) has(id string) bool {
	return slices.ContainsFunc(c.list, func(run choice) bool { return run.id == id })
}

// add adds a run, unless it is chosen already. Code: limit_exceeded above MaxRuns.
func (c *choices) add(run choice) error {
	if c.has(run.id) {
		return nil
	}
	if len(c.list) == MaxRuns {
		return fault.New(fault.LimitExceeded, "more than %d runs cannot be compared", MaxRuns).Hint("name the runs that matter")
	}
	c.list = append(c.list, run)
	return nil
}

// addWithForks adds a run and after it its forks, oldest first and each with its own forks. A forged history may have a run
// that descends from itself: it is added once.
func (c *choices) addWithForks(ctx context.Context, s *timeline.Store, run choice) error {
	if c.has(run.id) {
		return nil
	}
	if err := c.add(run); err != nil {
		return err
	}
	forks, err := list.Branches(ctx, s, run.id)
	if err != nil {
		return err
	}
	for _, fork := range forks {
		if err := c.addWithForks(ctx, s, choice{fork.RunID, run.depth + 1}); err != nil {
			return err
		}
	}
	return nil
}

// add adds a run to the comparison. base is the course of the base, or nil if the run is the base. add returns the
// course of the base.
func (c *Comparison) add(ctx context.Context, s *timeline.Store, sum *summary.Summary, depth int, base *course) (*course, error) {
	run := &Run{Summary: sum, Depth: depth, Inputs: inputsOf(sum.Input), Outputs: make(map[string]json.RawMessage), Name: agent.NameAt(list.HeadAt(s, sum.Row.ID, sum.Entry.ID))}
	for _, a := range sum.Attempts {
		if a.State == snapshot.AttemptFailed {
			run.Failed++
		}
	}
	course, err := newCourse(sum)
	if err != nil {
		return base, err
	}
	if base == nil {
		base = course
	} else if run.First, err = firstDifference(ctx, s, base, course); err != nil {
		return base, err
	}
	c.Runs = append(c.Runs, run)
	return base, nil
}

// inputsOf returns the members of an input. An input that is no object is the member "".
func inputsOf(input json.RawMessage) map[string]json.RawMessage {
	if input == nil {
		return nil
	}
	if members := objectOf(input); members != nil {
		return members
	}
	return map[string]json.RawMessage{"": input}
}

// FailedSteps returns the names of the steps that have failed, in the order of the steps.
func (r *Run) FailedSteps() []string {
	var names []string
	for i := range r.Steps {
		if step := &r.Steps[i]; step.State == snapshot.NodeFailed {
			names = append(names, step.Name())
		}
	}
	return slices.Clip(names)
}
