// Package group reads groups. A group is the run of a sweep; its members are the runs of the variants.
package group

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/app/stateexpr"
	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// The statuses of variants that have no run, beside those of runs.
const (
	NotStarted = "not-started"
	Skipped    = "skipped" // --stop-when held for another variant
	Missing    = "missing" // this clone does not have the run of the variant
)

// CoursesTable is the output table with the runs of the courses of a session: {"runId": ID}.
const CoursesTable = "courses"

// A Group is a sweep with its variants. Its JSON is the member group of show --json.
type Group struct {
	Row      snapshot.Run        `json:"-"`
	Stale    bool                `json:"-"`
	Plan     *workflow.SweepPlan `json:"plan"` // with placeholders for secrets
	Variants []*Variant          `json:"variants"`
	Differs  []string            `json:"differs"` // the members that the variants set, in the order of their names
	Ended    int                 `json:"ended"`   // how many variants have ended
	By       string              `json:"by,omitempty"`
	Best     []int               `json:"best"` // the numbers of the finished variants with the highest value; several are tied
	Usage    *summary.Usage      `json:"usage"`
	// Unknown counts the attempts of all variants that did not say what they used.
	Unknown int `json:"unknownUsage"`
}

// A Variant is one course of a group.
type Variant struct {
	Number  int             `json:"number"`
	RunID   string          `json:"runId,omitempty"` // "" if it has not started
	Status  string          `json:"status"`          // of its run, or NotStarted, Skipped or Missing
	Stale   bool            `json:"stale,omitempty"`
	Error   string          `json:"error,omitempty"`
	Input   json.RawMessage `json:"input"` // the members in which it differs
	Value   *float64        `json:"value"` // of Group.By; nil if it has none
	TookMs  int64           `json:"tookMs"`
	Usage   *summary.Usage  `json:"usage"`
	Unknown int             `json:"unknownUsage"`

	head *timeline.Head
}

// Ended reports whether the run of the variant has finished, has failed or was cancelled.
func (v *Variant) Ended() bool { return snapshot.RunStatus(v.Status).Ended() }

// Is reports whether the run of head is a group.
func Is(head *timeline.Head) bool {
	wf, err := definitionOf(head)
	return err == nil && wf != nil
}

// definitionOf returns the workflow of a group, or nil if the run of head is none.
func definitionOf(head *timeline.Head) (*workflow.Workflow, error) {
	if name := head.Row().Workflow; name != workflow.SweepName && name != workflow.CoursesName {
		return nil, nil //nolint:nilnil // the name of another workflow
	}
	kept, err := head.Entry().Workflow()
	if err != nil || kept == nil {
		return nil, timeline.Explain(err)
	}
	wf, err := workflow.Stored("the sweep "+head.Row().ID, kept.Definition)
	if err != nil || !wf.Sweep {
		return nil, nil //nolint:nilnil,nilerr // a workflow of the user with this name, or of another engine
	}
	return wf, nil
}

// PlanOf returns the plan of the group of head with its placeholders, or nil if the run is not a group.
func PlanOf(head *timeline.Head) (*workflow.SweepPlan, error) {
	wf, err := definitionOf(head)
	if err != nil || wf == nil {
		return nil, err
	}
	input, err := head.State().Input()
	if err != nil {
		return nil, timeline.Explain(err)
	}
	plan, err := workflow.ReadSweepPlan(input)
	if err != nil {
		return nil, fault.New(fault.InvalidState, "run %s: %w", head.Row().ID, err)
	}
	return plan, nil
}

// Open reads the group with an id or a unique prefix. Codes: run_not_found; invalid_input if the run is not a group.
func Open(ctx context.Context, s *timeline.Store, id string, now time.Time) (*Group, error) {
	head, err := s.Head(ctx, id)
	if err != nil {
		return nil, err
	}
	g, err := Read(ctx, s, head, nil, now)
	if err == nil && g == nil {
		err = fault.New(fault.InvalidInput, "run %s is not a group", head.Row().ID).Detail("runId", head.Row().ID).
			Hint("`%s` makes groups, and `%s` lists them", fault.CommandLine(fault.Program, "sweep", "--help"), fault.CommandLine(fault.Program, "runs", "--workflow", workflow.SweepName))
	}
	return g, err
}

// Read reads the group of head, or returns nil if the run is not a group. before is the group as it was, whose ended variants are not read again, or
// nil. now is the end of what has not ended. The values of variants are not read: see Rank.
func Read(ctx context.Context, s *timeline.Store, head *timeline.Head, before *Group, now time.Time) (*Group, error) {
	plan, err := PlanOf(head)
	if err != nil || plan == nil {
		return nil, err
	}
	g := &Group{Row: head.Row(), Plan: plan, Stale: summary.Stale(s, head.Row(), head.Entry()), Differs: plan.Members(), Best: []int{}, Variants: []*Variant{}}
	nodes := make(map[int]snapshot.Node)
	for n, err := range head.State().AllNodes() {
		if err != nil {
			return nil, timeline.Explain(err)
		}
		nodes[workflow.VariantOf(n.NodeID)] = n
	}
	for i := range plan.Variants {
		if before != nil && before.Variants[i].Ended() {
			g.add(before.Variants[i])
			continue
		}
		v := &Variant{Number: i + 1, Status: NotStarted, Input: plan.Variants[i]}
		if err := v.read(ctx, s, head, nodes[v.Number], now); err != nil {
			return nil, err
		}
		g.add(v)
	}
	return g, nil
}

// add adds a variant and what it used.
func (g *Group) add(v *Variant) {
	g.Variants = append(g.Variants, v)
	if v.Ended() {
		g.Ended++
	}
	g.Unknown += v.Unknown
	if v.Usage != nil {
		if g.Usage == nil {
			g.Usage = new(summary.Usage)
		}
		g.Usage.AddUsage(v.Usage)
	}
}

// runOf returns the id of the run of the variant of a node, or "", and the error of its attempt.
func runOf(of *timeline.Head, n snapshot.Node) (run, failed string, err error) {
	if n.LastAttempt == nil {
		return "", "", nil
	}
	a, _, err := of.Entry().Attempt(n.NodeID, n.Iteration, *n.LastAttempt)
	if err != nil || a.Child != "" {
		return a.Child, a.Error, timeline.Explain(err)
	}
	value, ok, err := of.State().Outputs(CoursesTable).Get(snapshot.Key(n.NodeID, n.Iteration))
	var course struct {
		RunID string `json:"runId"`
	}
	if ok && json.Unmarshal(value, &course) == nil {
		run = course.RunID
	}
	return run, a.Error, timeline.Explain(err)
}

// read reads what became of the variant of a node of the group of head. The group of a stranger may name any run: one that is not a variant is missing.
func (v *Variant) read(ctx context.Context, s *timeline.Store, of *timeline.Head, n snapshot.Node, now time.Time) error {
	if n.State == snapshot.NodeSkipped {
		v.Status = Skipped
	}
	run, failed, err := runOf(of, n)
	if err != nil || run == "" {
		return err
	}
	v.RunID = run
	v.head, err = s.Head(ctx, run)
	code := fault.CodeOf(err)
	if code == fault.RunNotFound || code == fault.RunPruned || code == fault.InvalidRunID || err == nil && !belongs(of, v.head) {
		v.head, v.Status = nil, Missing
		if n.State == snapshot.NodeFailed {
			v.Status, v.Error = string(snapshot.RunFailed), failed
		}
		return nil
	}
	if err != nil {
		return err
	}
	row := v.head.Row()
	v.Status, v.Error, v.Stale = string(row.Status), row.Error, summary.Stale(s, row, v.head.Entry())
	if v.Error == "" && n.State == snapshot.NodeFailed {
		v.Error = failed
	}
	if row.StartedAtMs != nil {
		end := now.UnixMilli()
		if row.FinishedAtMs != nil {
			end = *row.FinishedAtMs
		}
		v.TookMs = max(0, end-*row.StartedAtMs)
	}
	v.Usage, v.Unknown, err = usageOf(ctx, s, v.head, 0)
	return err
}

// belongs reports whether the run of head is a variant of a group: the group or its parent has called it, or it is a fork of the session.
func belongs(of, head *timeline.Head) bool {
	group, row := of.Row(), head.Row()
	if group.Workflow == workflow.CoursesName {
		return row.Parent != nil
	}
	by := row.Caller
	return by != nil && (by.RunID == group.ID || group.Parent != nil && by.RunID == group.Parent.RunID)
}

// Values returns what expressions read of the variant at its newest entry. v must have a run.
func (v *Variant) Values() (*stateexpr.Values, error) {
	return stateexpr.Of(timeline.Address{Run: v.RunID, Frame: v.head.Row().Frame}, v.head.Entry())
}

// session reports whether the variant is a session of a coding agent.
func (v *Variant) session() bool {
	engine, err := summary.ForeignEngine(v.head.Entry())
	return err == nil && engine != ""
}

// Rank reads the value of an expression in each variant that has a run, and sets Best.
func (g *Group) Rank(by *stateexpr.Expression) error {
	g.By, g.Best = by.String(), []int{}
	var highest float64
	for _, v := range g.Variants {
		if v.Value = nil; v.head == nil {
			continue
		}
		values, err := v.Values()
		if err != nil {
			return err
		}
		n, ok, err := by.Number(values)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		v.Value = &n
		switch {
		case v.Status != string(snapshot.RunFinished) && !v.session():
		case len(g.Best) == 0 || n > highest:
			highest, g.Best = n, []int{v.Number}
		case n == highest:
			g.Best = append(g.Best, v.Number)
		}
	}
	return nil
}

// TheBest returns the finished variant with the highest value, after Rank. Codes: no_best if none has a value; tied if several have it.
func (g *Group) TheBest() (*Variant, error) {
	switch len(g.Best) {
	case 0:
		return nil, fault.New(fault.NoBest, "no finished variant of %s has a value of %s", g.Row.ID, g.By).Detail("runId", g.Row.ID).
			Hint("`%s` shows the variants and their values", fault.CommandLine(fault.Program, "show", g.Row.ID))
	case 1:
		return g.Variants[g.Best[0]-1], nil
	}
	tied := make([]string, len(g.Best))
	for i, n := range g.Best {
		tied[i] = g.Variants[n-1].RunID
	}
	out := fault.New(fault.Tied, "%s are tied: %s is %v in each; nothing was landed", strings.Join(tied, ", "), g.By, *g.Variants[g.Best[0]-1].Value).
		Detail("runs", tied).Detail("value", *g.Variants[g.Best[0]-1].Value)
	return nil, out.Hint("`%s` compares them", fault.CommandLine(fault.Program, append([]string{"compare"}, tied[:min(len(tied), 8)]...)...)).
		Hint("`%s` lands one of them, and another --by may tell them apart", fault.CommandLine(fault.Program, "land", tied[0]))
}

// Runs returns the ids of the runs of the variants that have started, in the order of the variants.
func (g *Group) Runs() []string {
	var runs []string
	for _, v := range g.Variants {
		if v.head != nil {
			runs = append(runs, v.RunID)
		}
	}
	return runs
}

// Count returns how many variants have each status, in words: "3 finished, 1 failed".
func (g *Group) Count() string {
	count := make(map[string]int)
	var order []string
	for _, v := range g.Variants {
		if count[v.Status]++; count[v.Status] == 1 {
			order = append(order, v.Status)
		}
	}
	slices.Sort(order)
	for i, status := range order {
		order[i] = fmt.Sprintf("%d %s", count[status], strings.ReplaceAll(status, "-", " "))
	}
	return plain.Count(len(g.Variants), "variant") + ": " + strings.Join(order, ", ")
}

// Fold returns a list of runs without the members of the groups in it, and how many each group has. It knows members by their ids.
func Fold(runs []list.RunInfo) ([]list.RunInfo, map[string]int) {
	count := make(map[string]int)
	for _, run := range runs {
		if run.WorkflowName == workflow.SweepName {
			count[run.RunID] = 0
		}
	}
	kept := slices.DeleteFunc(slices.Clone(runs), func(run list.RunInfo) bool {
		at := strings.LastIndexByte(run.RunID, '.')
		if at < 0 || workflow.VariantOf(run.RunID[at+1:]) == 0 {
			return false
		}
		_, member := count[run.RunID[:at]]
		if member {
			count[run.RunID[:at]]++
		}
		return member
	})
	return kept, count
}
