package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/diff"
	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// maxParts is the largest number of parts of a kind, if the report is on one run.
const maxParts = 100

// stateOf returns the state of an attempt as that of a node.
func stateOf(a *summary.Attempt) snapshot.NodeState { return snapshot.NodeState(a.State) }

// stepTitle returns the name of a step for people: that of the task and, in a loop, the iteration.
func stepTitle(step *summary.Step) string { return titleOf(step.NodeID, step.Iteration, isLoop(step)) }

// titleOf returns the name of a task for people. loop reports whether the iteration says something.
func titleOf(node string, iteration int, loop bool) string {
	if !loop {
		return node
	}
	return node + " iteration " + strconv.Itoa(iteration)
}

// attemptTitle returns the name of an attempt.
func (r *runReader) attemptTitle(step *summary.Step, a *summary.Attempt) string {
	title := stepTitle(step)
	if len(step.Attempts) > 1 {
		title += ", attempt " + strconv.Itoa(a.Number)
	}
	return r.name(title)
}

// logCommand returns the command that shows the whole log of an attempt.
func (r *runReader) logCommand(step *summary.Step, a *summary.Attempt) string {
	args := []string{"logs", r.sum.Row.ID, step.NodeID}
	if isLoop(step) {
		args = append(args, "--iteration", strconv.Itoa(step.Iteration))
	}
	return r.mask.text(fault.CommandLine(fault.Program, append(args, "--attempt", strconv.Itoa(a.Number))...))
}

// parts sets Parts: first what explains a failure, then the conversation, then logs and changes in the order of their times.
func (r *runReader) parts(ctx context.Context) error {
	if f := r.out.Failure; f != nil && f.Log != nil {
		f.Log.Open = true
		r.out.Parts = append(r.out.Parts, f.Log)
	}
	if r.req.Brief {
		return nil
	}
	changes, err := r.changeParts(ctx)
	if err != nil {
		return err
	}
	if f := r.out.Failure; f != nil && f.Change != nil {
		for _, part := range changes {
			if part.part.Frame == f.Change.Address {
				part.part.Open, part.part.About = true, "the last change before the failure"
				r.out.Parts, part.part = append(r.out.Parts, part.part), nil
				break
			}
		}
	}
	if err := r.talk(); err != nil {
		return err
	}
	logs, err := r.logParts()
	if err != nil {
		return err
	}
	timed := slices.Concat(logs, changes)
	slices.SortStableFunc(timed, func(a, b *timedPart) int { return cmp.Compare(a.atMs, b.atMs) })
	for _, t := range timed {
		if t.part != nil {
			r.out.Parts = append(r.out.Parts, t.part)
		}
	}
	return nil
}

// A timedPart is a part and its time.
type timedPart struct {
	atMs int64
	part *Part // nil if it is in the report already
}

// logParts returns the logs of the run's own attempts but that of the failure. If there are too many, those of attempts that failed
// come first, then the newest.
func (r *runReader) logParts() ([]*timedPart, error) {
	type candidate struct {
		step    *summary.Step
		attempt *summary.Attempt
		failed  bool
	}
	var list []candidate
	for i := range r.sum.Steps {
		step := &r.sum.Steps[i]
		for _, a := range step.Attempts {
			if shown := r.sum.Failure != nil && r.sum.Failure.Attempt == a; !a.Inherited && !shown {
				list = append(list, candidate{step, a, stateOf(a) == snapshot.NodeFailed})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int {
		if a.failed != b.failed {
			if a.failed {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.attempt.StartedAtMs, a.attempt.StartedAtMs)
	})
	var out []*timedPart
	for _, c := range list {
		if len(out) >= r.share(maxParts) {
			_, ok, err := r.sum.StoredLog(c.attempt)
			if err != nil {
				return nil, err
			}
			if ok {
				r.out.MoreParts++
			}
			continue
		}
		most := otherLog
		if c.failed {
			most = failedLog
		}
		part, err := r.log(c.step, c.attempt, most)
		if err != nil {
			return nil, err
		}
		if part != nil {
			out = append(out, &timedPart{c.attempt.EndMs, part})
		}
	}
	return out, nil
}

// changeParts returns what frames changed: those at which an attempt ended or files changed. If there are too many, those with
// changed files come first, then the newest.
func (r *runReader) changeParts(ctx context.Context) ([]*timedPart, error) {
	frames := r.sum.Frames.Frames
	effects, err := list.Effects(ctx, &r.sum.Frames) // with the numbers of lines, which the summary has counted
	if err != nil {
		return nil, err
	}
	var chosen []int
	for i, effect := range effects {
		if frames[i].BasedOn != nil && (effect.Changed || effect.Ended && !r.sum.Session) {
			chosen = append(chosen, i)
		}
	}
	slices.SortStableFunc(chosen, func(a, b int) int {
		if effects[a].Changed != effects[b].Changed {
			if effects[a].Changed {
				return -1
			}
			return 1
		}
		return cmp.Compare(b, a)
	})
	most := min(r.share(maxParts), len(chosen))
	r.out.MoreParts += len(chosen) - most
	var out []*timedPart
	for n, i := range chosen[:most] {
		r.req.Progress(n, most)
		part, err := r.changePart(ctx, frames[i], effects[i].Lines)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil { // the rest of the report is worth having
			r.store.Warn(err)
			r.out.Unread = append(r.out.Unread, fmt.Sprintf("the changes of frame %d, which cannot be read", frames[i].FrameNo))
			continue
		}
		if part != nil {
			out = append(out, &timedPart{frames[i].CreatedAtMs, part})
		}
	}
	return out, nil
}

// changePart returns what a frame changed in files and in state, or nil if the table of steps says as much.
// lines has the numbers of all lines that it changed, or is nil if they are unknown.
func (r *runReader) changePart(ctx context.Context, frame list.FrameInfo, lines *sqliteindex.Lines) (*Part, error) {
	run := r.sum.Row.ID
	at := timeline.Address{Run: run, Frame: frame.FrameNo}
	before, err := r.store.Load(ctx, timeline.Address{Run: run, Frame: *frame.BasedOn}.String())
	if err != nil {
		return nil, err
	}
	after, err := r.store.Load(ctx, at.String())
	if err != nil {
		return nil, err
	}
	title, ended := r.frameTitle(frame)
	part := &Part{Kind: CodePart, State: ended, Title: title, Frame: at.String(), Rest: r.mask.text(fault.CommandLine(fault.Program, "show", "-p", at.String()))}
	if err := r.files(ctx, part, before.Entry, after.Entry); err != nil {
		return nil, err
	}
	if part.Code.Files == 0 {
		part.Kind = StatePart
	}
	if lines != nil { // as everywhere else: a renamed file is removed and added
		part.Code.Added, part.Code.Removed = lines.Added, lines.Removed
	}
	if r.sum.Session { // the conversation has its state
		if part.Code.Files == 0 {
			return nil, nil //nolint:nilnil // nothing to show
		}
		part.About = "changes"
		return part, nil
	}
	was, err := before.Entry.State()
	if err != nil {
		return nil, timeline.Explain(err)
	}
	is, err := after.Entry.State()
	if err != nil {
		return nil, timeline.Explain(err)
	}
	result, err := diff.States(was, is)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	state := r.stateLines(result)
	if len(part.Lines) == 0 && r.inTable(result, state) {
		return nil, nil //nolint:nilnil // the table of steps says as much
	}
	if len(state) > 0 && len(part.Lines) > 0 {
		part.Lines = append(part.Lines, Line{Kind: HeadLine, Text: "State"})
	}
	part.Lines = append(part.Lines, state...)
	if part.Kind == StatePart {
		part.About = "state"
	} else {
		part.About = "changes"
	}
	return part, nil
}

// inTable reports whether the table of steps says as much as the lines of a difference between two states: the states of nodes, and
// outputs that are not long.
func (r *runReader) inTable(d *diff.Result, lines []Line) bool {
	said := 0
	for _, l := range lines {
		if l.Kind == ChangedLine {
			said++
		}
	}
	for _, o := range d.OutputsAdded {
		if text := words(r.mask.text(string(o.Value))); len(text) <= textShown {
			said++
		}
	}
	return said == len(lines)
}

// frameTitle returns the names of the steps that ended at a frame, or its subject if there are none. ended is the state of the step if
// there is one, else "".
func (r *runReader) frameTitle(frame list.FrameInfo) (title string, ended State) {
	var names []string
	for i := range r.sum.Steps {
		step := &r.sum.Steps[i]
		for _, a := range step.Attempts {
			if a.Frame != nil && *a.Frame == frame.FrameNo && !a.Inherited && !r.sum.Session {
				names, ended = append(names, r.attemptTitle(step, a)), nodeState(stateOf(a))
			}
		}
	}
	if len(names) != 1 {
		ended = ""
	}
	if len(names) == 0 || len(names) > 3 {
		return r.name(frame.Subject), ended
	}
	return strings.Join(names, " and "), ended
}
