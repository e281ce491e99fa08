package report

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// What a run has at most, if the report is on one run.
const (
	maxValues  = 30
	maxForks   = 30
	maxWaits   = 30
	valueShown = 300 // characters of a value
	nameShown  = 100 // characters of a name
	errorShown = 300 // characters of an error
)

// A runReader reads one run for a report.
type runReader struct {
	*collector

	sum *summary.Summary
	out *Run
}

// run reads a run, and adds it to the report. A run that was named twice is in the report once.
func (c *collector) run(ctx context.Context, name string) error {
	id, err := c.store.ResolveRun(ctx, name)
	if err != nil {
		return err
	}
	sum, err := summary.Read(ctx, c.store, id, c.now)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(c.out.Runs, func(r *Run) bool { return r.ID == sum.Row.ID }) {
		return nil
	}
	c.mask.begin(sum.Row)
	r := &runReader{c, sum, &Run{ID: sum.Row.ID, marks: sum.Row.Marks}}
	for _, step := range []func(context.Context) error{r.facts, r.fileStat, r.values, r.forks, r.rows, r.sharing, r.failure, r.parts} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	r.next()
	c.out.Runs = append(c.out.Runs, r.out)
	return nil
}

// facts sets what the summary says of the run as a whole.
func (r *runReader) facts(context.Context) error {
	sum, out := r.sum, r.out
	out.Workflow, out.Session = r.name(sum.Row.Workflow), sum.Session
	out.Tip = sum.Entry.ID.String()
	out.State, out.Error = runState(sum.Row.Status, sum.Stale), r.line(sum.Row.Error, errorShown)
	if sum.AwaitsPrompt() {
		out.State = Waiting
	}
	out.StartMs, out.EndMs, out.TookMs, out.WaitedMs = sum.StartMs, sum.EndMs, sum.TookMs, sum.WaitedMs
	out.Frames = len(sum.Frames.Frames)
	out.Calls, out.Code = sum.Calls, sum.Code
	for _, s := range sum.Scorers[:min(len(sum.Scorers), maxScorers)] {
		s.Name = r.name(s.Name)
		out.Scores = append(out.Scores, s)
	}
	if sum.Frames.Branch != nil && sum.Frames.Branch.BranchLabel != nil {
		out.Name = r.name(*sum.Frames.Branch.BranchLabel)
	}
	if sum.Session && (out.Name == "" || out.Name == agent.WhatIfLabel || out.Name == agent.ContinuedLabel) {
		r.title()
	}
	if sum.Origin != nil {
		out.From = r.mask.text(sum.Origin.At.String())
	}
	if sum.VCS != nil {
		out.Branch, out.Commit = r.name(sum.VCS.Branch), sum.VCS.CommitID
	}
	r.absent()
	if sum.Usage != nil {
		out.Usage = &Usage{sum.Usage.Tokens(), sum.Usage.CostUSD, sum.Usage.ByModel()}
		for i := range out.Usage.Models {
			out.Usage.Models[i].Name = r.name(out.Usage.Models[i].Name)
		}
	}
	waits := sum.Waits[:min(len(sum.Waits), r.share(maxWaits))]
	for _, w := range waits {
		out.Waits = append(out.Waits, Wait{
			Step: r.name(titleOf(w.NodeID, w.Iteration, w.Iteration > 0)), For: w.For, What: r.line(w.What, valueShown), DueMs: w.DueAtMs,
			How: r.mask.text(w.Hint(sum.Row.ID)),
		})
	}
	if more := len(sum.Waits) - len(waits); more > 0 {
		out.Unread = append(out.Unread, fmt.Sprintf("%d waits", more))
	}
	return nil
}

// sharing sets Shared.
func (r *runReader) sharing(ctx context.Context) error {
	shared, err := files.SharedSince(ctx, r.store, objstore.ID{}, r.sum.Entry.ID)
	if shared != nil {
		who, files := shared.Names()
		r.out.Shared = &Sharing{r.line(who, valueShown), r.line(files, valueShown)}
	}
	return err
}

// absent notes what the run itself does not have or show.
func (r *runReader) absent() {
	for _, part := range slices.Sorted(maps.Keys(r.sum.Unread)) {
		r.out.Unread = append(r.out.Unread, "the "+string(part)+" of the run, which cannot be read as a whole")
	}
	frames := r.sum.Frames.Frames
	if len(frames) > 0 {
		if dropped := frames[len(frames)-1].FrameNo + 1 - int64(len(frames)); dropped > 0 {
			r.out.Unread = append(r.out.Unread, plain.Count(int(dropped), "frame")+" that later frames stepped over")
		}
	}
	if v := r.sum.VCS; v != nil {
		if left := int64(len(v.LeftOut)) + v.LeftOutMore; left > 0 {
			r.out.Unread = append(r.out.Unread, plain.Count(int(left), "path")+" of the working copy that the run did not capture")
		}
	}
}

// title makes the beginning of the first prompt of a session's own its name.
func (r *runReader) title() {
	name := agent.NameAt(list.HeadAt(r.store, r.sum.Row.ID, r.sum.Entry.ID))
	if name == nil {
		return
	}
	first, _, _ := strings.Cut(strings.TrimSpace(r.mask.text(name.Prompt)), "\n")
	if first = oneLine(first, textShown); first != "" {
		r.out.Name = strings.TrimPrefix(r.out.Name+": "+first, ": ")
	}
}

// runState returns the state of a run.
func runState(status snapshot.RunStatus, stale bool) State {
	switch {
	case stale:
		return Stale
	case status == snapshot.RunWaitingApproval || status == snapshot.RunWaitingHuman:
		return Waiting
	case status.Waiting():
		return Delayed
	}
	return State(status)
}

// nodeState returns the state of a step or an attempt.
func nodeState(state snapshot.NodeState) State {
	switch {
	case state == snapshot.NodeInProgress:
		return Running
	case state == snapshot.NodeWaitingApproval || state == snapshot.NodeWaitingHuman:
		return Waiting
	case state.Waiting():
		return Delayed
	}
	return State(state)
}

// name returns a name without its secrets, cut to nameShown characters.
func (r *runReader) name(text string) string { return oneLine(r.mask.text(text), nameShown) }

// line returns a text without its secrets on one line, cut to most characters.
func (r *runReader) line(text string, most int) string { return oneLine(r.mask.text(text), most) }

// values sets Input and Outputs.
func (r *runReader) values(context.Context) error {
	for _, v := range summary.DifferentInputs(nil, r.sum.Input) {
		r.value(&r.out.Input, Value{Name: v.Name}, v.Value)
	}
	state, err := r.sum.Entry.State()
	if err != nil {
		return timeline.Explain(err)
	}
	tables := map[string]bool{summary.UsageTable: true}
	if r.sum.Session {
		tables["prompts"], tables["todos"] = true, true // the conversation has them
	}
	for _, step := range slices.Backward(r.sum.Steps) {
		if step.OutputTable == "" || tables[step.OutputTable] || step.State != snapshot.NodeFinished {
			continue
		}
		tables[step.OutputTable] = true // the newest row of each table
		value, ok, err := state.Outputs(step.OutputTable).Get(snapshot.Key(step.NodeID, step.Iteration))
		if err != nil {
			return timeline.Explain(err)
		}
		if ok {
			from := ""
			if isLoop(&step) {
				from = r.name(stepTitle(&step))
			}
			r.value(&r.out.Outputs, Value{Name: step.OutputTable, From: from}, value)
		}
	}
	slices.Reverse(r.out.Outputs.List)
	return nil
}

// value adds a value to a list, unless the list is full. about has its name, and where it is from.
func (r *runReader) value(to *Values, about Value, value json.RawMessage) {
	if len(to.List) >= r.share(maxValues) {
		to.More++
		return
	}
	text, left := cut(strings.Join(strings.Fields(words(r.mask.text(string(value)))), " "), valueShown)
	to.List = append(to.List, Value{r.name(about.Name), text, about.From, left})
}

// words returns a JSON value for people: a string without its quotes, a flat object as its members, and everything else as it is.
func words(value string) string {
	if value == "" {
		return value
	}
	if value[0] == '"' {
		return jsontext.Unquote([]byte(value))
	}
	var object jsontext.Members
	if json.Unmarshal([]byte(value), &object) != nil || !jsontext.IsObject([]byte(value)) {
		return value
	}
	members := make([]string, len(object))
	for i, m := range object {
		members[i] = m.Name + ": " + flat(m.Value)
	}
	return strings.Join(members, ", ")
}

// flat returns a member for people: a string without its quotes, a list of numbers and strings as its elements, and everything else as it is.
func flat(value json.RawMessage) string {
	var list []json.RawMessage
	if value[0] != '[' || json.Unmarshal(value, &list) != nil || slices.ContainsFunc(list, func(v json.RawMessage) bool { return v[0] == '[' || v[0] == '{' }) {
		list = []json.RawMessage{value}
	}
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = string(v)
		if v[0] == '"' {
			texts[i] = jsontext.Unquote(v)
		}
	}
	return strings.Join(texts, ", ")
}

// forks sets Forks.
func (r *runReader) forks(ctx context.Context) error {
	forks, total, err := r.sum.Forks(ctx, r.store, r.share(maxForks), r.now)
	if err != nil {
		return err
	}
	for _, f := range forks {
		fork := Fork{
			ID: r.mask.text(f.RunID), From: r.mask.text(timeline.Address{Run: f.ParentRunID, Frame: f.ParentFrameNo}.String()), State: runState(f.Status, f.Stale),
			Error: r.line(orEmpty(f.Error), errorShown), Code: f.Code, Better: f.Better, Differs: r.different(f.Differs),
		}
		fork.GoOn = r.goOn(&f)
		if f.BranchLabel != nil {
			fork.Name = r.name(*f.BranchLabel)
		}
		r.out.Forks = append(r.out.Forks, fork)
	}
	r.out.MoreForks = total - len(forks)
	return nil
}

// goOn returns the command that goes on with a fork, or lands it, or "" if there is none.
func (r *runReader) goOn(f *summary.Fork) string {
	line := ""
	switch {
	case f.Status.Waiting() && len(f.Waits) > 0:
		_, line, _ = strings.Cut(f.Waits[0].Hint(f.RunID), "`")
		line, _, _ = strings.Cut(line, "`")
	case f.Status == snapshot.RunFinished && !f.Code.IsZero():
		line = fault.CommandLine(fault.Program, "land", f.RunID)
	case f.Stale || f.Status == snapshot.RunPending || f.Status == snapshot.RunCancelled:
		line = fault.CommandLine(fault.Program, "resume", f.RunID)
	}
	return r.mask.text(line)
}

// different returns what differs in an input: the first few members.
func (r *runReader) different(members []summary.InputValue) []Value {
	const most = 5
	var list Values
	for _, m := range members[:min(len(members), most)] {
		if m.Value == nil {
			list.List = append(list.List, Value{Name: r.name(m.Name), Text: "none"})
			continue
		}
		r.value(&list, Value{Name: m.Name}, m.Value)
	}
	return list.List
}

// next sets the commands to type next.
func (r *runReader) next() {
	run, out := r.sum.Row.ID, r.out
	add := func(name string, args ...string) {
		out.Next = append(out.Next, Command{Name: name, Line: r.mask.text(fault.CommandLine(fault.Program, args...))})
	}
	if f := r.sum.Failure; f != nil {
		if better := out.Failure.Better; better != nil && better.GoOn != "" {
			out.Next = append(out.Next, Command{Name: "Better fork", Line: better.GoOn})
		}
		if args := r.sum.RetryArguments(); args != nil {
			add("Try again", args...)
			out.Next[len(out.Next)-1].Note = r.mask.text(f.Retry.Does())
		}
		if f.Retry != nil && f.Retry.Denied {
			add("Ask again", "resume", run)
		}
		if f.Attempt != nil {
			out.Next = append(out.Next, Command{Name: "Whole log", Line: r.logCommand(f.Step, f.Attempt)})
		}
	}
	if first := r.sum.First; first != nil && !r.sum.Code.IsZero() && r.sum.Row.Parent == nil {
		add("All changes", "diff", "--code", timeline.Address{Run: run, Frame: first.Frame}.String(), run)
	}
	add("All frames", "timeline", run)
}

// waitsFor returns the wait of a step, or nil.
func waitsFor(waits []mailbox.Waiting, node string, iteration int) *mailbox.Waiting {
	for i := range waits {
		if waits[i].NodeID == node && waits[i].Iteration == iteration {
			return &waits[i]
		}
	}
	return nil
}
