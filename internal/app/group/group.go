// Package group reads groups. A group is the run of a sweep, or of several courses of a session; its variants are runs.
package group

import (
	"cmp"
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

// A Group is a sweep with its variants. Its JSON is the member group of show --json.
type Group struct {
	Row      snapshot.Run        `json:"-"`
	Stale    bool                `json:"-"`
	Plan     *workflow.SweepPlan `json:"plan"` // with placeholders for secrets
	Variants []*Variant          `json:"variants"`
	Differs  []string            `json:"differs"` // the members that the variants set, in the order in which they come first
	By       string              `json:"by,omitempty"`
	Best     []int               `json:"best"` // the numbers of the finished variants with the highest value; several are tied
	Usage    *summary.Usage      `json:"usage"`
	Unknown  int                 `json:"unknownUsage"` // how many attempts of all variants did not say what they used
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
	Score   *Score          `json:"score"` // nil if the command of compare --score has not scored it

	head *timeline.Head // nil if it has no run here
}

// Ended reports whether the run of the variant has finished, has failed or was cancelled.
func (v *Variant) Ended() bool { return v.head != nil && v.head.Row().Status.Ended() }

// Head returns the head of the run of the variant, or nil if it has none here.
func (v *Variant) Head() *timeline.Head { return v.head }

// Values returns what expressions read of the variant at its newest entry. v must have a run.
func (v *Variant) Values() (*stateexpr.Values, error) {
	values, err := stateexpr.Of(timeline.Address{Run: v.RunID, Frame: v.head.Row().Frame}, v.head.Entry())
	if err == nil && v.Score.counts(v) {
		values.Scores[v.Score.Scorer] = v.Score.Value
	}
	return values, err
}

// PlanOf returns the plan of the group of head with its placeholders, or nil if the run is not a group.
func PlanOf(head *timeline.Head) (*workflow.SweepPlan, error) {
	if name := head.Row().Workflow; name != workflow.SweepName && name != workflow.CoursesName {
		return nil, nil //nolint:nilnil // the name of another workflow
	}
	kept, err := head.Entry().Workflow()
	if err != nil || kept == nil || !workflow.IsSweep(kept.Definition) {
		return nil, timeline.Explain(err) // a workflow of the user with this name
	}
	input, err := head.State().Input()
	if err != nil {
		return nil, timeline.Explain(err)
	}
	plan, err := workflow.ReadSweepPlan(input)
	if err != nil || len(plan.Variants) == 0 || len(plan.Variants) > workflow.MaxVariants {
		return nil, nil //nolint:nilnil,nilerr // a group that a stranger made up
	}
	return plan, nil
}

// Open reads the group with an id or a unique prefix. It ranks the variants by the expression by or, if by is "", by the newest score of a command or else
// by the expression of the group's plan, unless the group is a stranger's. Codes:
// run_not_found; invalid_input if the run is not a group; invalid_expression for by, while that of the plan is a warning.
func Open(ctx context.Context, s *timeline.Store, id, by string, now time.Time) (*Group, error) {
	head, err := s.Head(ctx, id)
	if err != nil {
		return nil, err
	}
	g, err := Read(ctx, s, head, nil, now)
	if err != nil {
		return nil, err
	}
	if g == nil {
		return nil, fault.New(fault.InvalidInput, "run %s is not a group", head.Row().ID).Detail("runId", head.Row().ID).
			Hint("`%s` lists sweeps", fault.CommandLine(fault.Program, "runs", "--workflow", workflow.SweepName))
	}
	origin, err := s.Origin(head.Entry())
	if err != nil {
		return nil, err
	}
	scored, err := g.readScores(head)
	if err != nil {
		return nil, err
	}
	if origin != timeline.Stranger {
		by = cmp.Or(by, scored)
	}
	if asked := by != ""; asked || g.Plan.By != "" {
		if !asked && origin == timeline.Stranger { // the expression of a stranger is not evaluated unasked
			return g, nil
		}
		if err = g.rank(cmp.Or(by, g.Plan.By), stateexpr.Lenient(s.Warn)); err != nil && !asked {
			s.Warn(err)
			err = nil
		}
		return g, err
	}
	return g, err
}

// Read reads the group of head, or returns nil if the run is not a group. before is the group as it was, whose ended variants are not read again, or
// nil. now is the end of what has not ended. The variants have no values.
func Read(ctx context.Context, s *timeline.Store, head *timeline.Head, before *Group, now time.Time) (*Group, error) {
	plan, err := PlanOf(head)
	if err != nil || plan == nil {
		return nil, err
	}
	g := &Group{Row: head.Row(), Plan: plan, Stale: summary.Stale(s, head.Row(), head.Entry()), Differs: plan.Members(), Best: []int{}}
	members, err := membershipOf(ctx, s, head, plan)
	if err != nil {
		return nil, err
	}
	nodes := make(map[int]snapshot.Node)
	for n, err := range head.State().AllNodes() {
		if err != nil {
			return nil, timeline.Explain(err)
		}
		nodes[workflow.VariantOf(n.NodeID)] = n
	}
	for i := range plan.Variants {
		v := &Variant{Number: i + 1, Status: NotStarted, Input: plan.Variants[i]}
		if before != nil && i < len(before.Variants) && before.Variants[i].Ended() {
			v = before.Variants[i]
		} else if err := v.read(ctx, s, members, nodes[v.Number], now); err != nil {
			return nil, err
		}
		g.Variants, g.Unknown = append(g.Variants, v), g.Unknown+v.Unknown
		if v.Usage != nil {
			g.Usage = cmp.Or(g.Usage, new(summary.Usage))
			g.Usage.AddUsage(v.Usage)
		}
	}
	return g, nil
}

// runOf returns the id of the run of the variant of a node, or "", and the error of its attempt.
func (m *membership) runOf(n snapshot.Node) (run, failed string, err error) {
	if n.LastAttempt == nil {
		return "", "", nil
	}
	a, _, err := m.of.Entry().Attempt(n.NodeID, n.Iteration, *n.LastAttempt)
	return cmp.Or(a.Child, m.plan.Course(workflow.VariantOf(n.NodeID))), a.Error, timeline.Explain(err)
}

// A membership decides which runs are variants of a group. The group of a stranger may name any run.
type membership struct {
	of       *timeline.Head
	plan     *workflow.SweepPlan
	recorded bool             // this clone has recorded the group
	from     timeline.Address // of the frame that courses fork
}

// membershipOf returns the membership of the group of head.
func membershipOf(ctx context.Context, s *timeline.Store, head *timeline.Head, plan *workflow.SweepPlan) (*membership, error) {
	origin, err := s.Origin(head.Entry())
	m := &membership{of: head, plan: plan, recorded: origin == timeline.Recorded}
	if err == nil && m.recorded && head.Row().Workflow == workflow.CoursesName {
		at, err := s.Load(ctx, plan.From)
		if err != nil {
			return m, ctx.Err() // the session is gone
		}
		m.from = at.Address
	}
	return m, err
}

// has reports whether the run of head is the variant that a task of the group has: the task has called it, or the task of the group's parent. If this
// clone has recorded a group of courses, its variants are forks of the frame of its plan.
func (m *membership) has(head *timeline.Head, task string) bool {
	group, row := m.of.Row(), head.Row()
	if by := row.Caller; by != nil {
		return by.NodeID == task && (by.RunID == group.ID || m.recorded && group.Parent != nil && by.RunID == group.Parent.RunID)
	}
	return m.recorded && row.Parent != nil && m.from.Run != "" && row.Parent.RunID == m.from.Run && row.Parent.Frame == m.from.Frame
}

// read reads what became of the variant of a node of the group of head.
func (v *Variant) read(ctx context.Context, s *timeline.Store, m *membership, n snapshot.Node, now time.Time) error {
	if n.State == snapshot.NodeSkipped {
		v.Status = Skipped
	}
	run, failed, err := m.runOf(n)
	if err != nil || run == "" {
		return err
	}
	v.RunID, v.Error = run, failed
	head, err := s.Head(ctx, run)
	if err != nil || !m.has(head, n.NodeID) {
		if v.Status = Missing; n.State == snapshot.NodeFailed {
			v.Status = string(snapshot.RunFailed)
		}
		return ctx.Err()
	}
	row := head.Row()
	v.head, v.Status, v.Stale, v.Error = head, string(row.Status), summary.Stale(s, row, head.Entry()), cmp.Or(row.Error, failed)
	if n.State == snapshot.NodeFailed && row.Caller == nil { // the agent of a course, whose session has ended well all the same
		v.Status = string(snapshot.RunFailed)
	}
	if row.StartedAtMs != nil {
		end := now.UnixMilli()
		if row.FinishedAtMs != nil {
			end = *row.FinishedAtMs
		}
		v.TookMs = max(0, end-*row.StartedAtMs)
	}
	return timeline.Explain(v.readUsage())
}

// readUsage sets Usage and Unknown from the attempts of the run that began after a fork. An attempt is unknown if it ran a command and failed, or does not
// say what it used, or if it called a run.
func (v *Variant) readUsage() error {
	row, since := v.head.Row(), int64(0)
	if row.Parent != nil {
		since = row.CreatedAtMs
	}
	counted := make(map[string]bool) // the rows, by their keys
	rows := v.head.State().Outputs(summary.UsageTable)
	for a, err := range v.head.Entry().AllAttempts() {
		if err != nil {
			return err
		}
		if a.StartedAtMs < since || a.FinishedAtMs == nil || a.CachedFrom != "" {
			continue
		}
		key := snapshot.Key(a.NodeID, a.Iteration)
		value, ok, err := rows.Get(key)
		switch {
		case err != nil:
			return err
		case ok && a.State == snapshot.AttemptFinished && !counted[key]:
			counted[key], v.Usage = true, cmp.Or(v.Usage, new(summary.Usage))
			v.Usage.Add(value)
		case a.ExitStatus != nil || a.Child != "":
			v.Unknown++
		}
	}
	return nil
}

// rank reads the value of an expression in each variant that has a run, and sets By and Best. lenient is that of the errors of evaluations. A session need not have finished.
func (g *Group) rank(text string, lenient func(error) error) error {
	by, err := stateexpr.Compile("by", text)
	if err != nil {
		return err
	}
	g.By = text
	for _, v := range g.Variants {
		if v.head == nil {
			continue
		}
		values, err := v.Values()
		if err != nil {
			return err
		}
		n, ok, err := by.Number(values)
		if err = lenient(err); err != nil {
			return err
		}
		if !ok {
			continue
		}
		v.Value = &n
		switch {
		case v.Status != string(snapshot.RunFinished) && g.Row.Workflow == workflow.SweepName, v.Status == string(snapshot.RunFailed):
		case len(g.Best) == 0 || n > *g.Variants[g.Best[0]-1].Value:
			g.Best = []int{v.Number}
		case n == *g.Variants[g.Best[0]-1].Value:
			g.Best = append(g.Best, v.Number)
		}
	}
	return nil
}

// TheBest returns the finished variant with the highest value. Codes: no_best if none has a value; tied if several have the highest.
func (g *Group) TheBest() (*Variant, error) {
	if len(g.Best) == 0 {
		return nil, fault.New(fault.NoBest, "no finished variant of %s has a value of %s", g.Row.ID, g.By).Detail("runId", g.Row.ID).
			Hint("`%s` shows the variants and their values", fault.CommandLine(fault.Program, "show", g.Row.ID))
	}
	best := g.Variants[g.Best[0]-1]
	if len(g.Best) == 1 {
		return best, nil
	}
	tied := make([]string, len(g.Best))
	for i, n := range g.Best {
		tied[i] = g.Variants[n-1].RunID
	}
	return nil, fault.New(fault.Tied, "%s are tied: %s is %v in each; nothing was landed", strings.Join(tied, ", "), g.By, *best.Value).
		Detail("runs", tied).Detail("value", *best.Value).
		Hint("`%s` compares them", fault.CommandLine(fault.Program, append([]string{"compare"}, tied[:min(len(tied), 8)]...)...)).
		Hint("`%s` lands one of them, and another --by may tell them apart", fault.CommandLine(fault.Program, "land", tied[0]))
}

// Runs returns the ids of the runs of the variants that have started, in the order of the variants.
func (g *Group) Runs() (runs []string) {
	for _, v := range g.Variants {
		if v.head != nil {
			runs = append(runs, v.RunID)
		}
	}
	return runs
}

// Scores returns what the newest scorer has given the variants, by the ids of their runs.
func (g *Group) Scores() map[string]map[string]float64 {
	out := make(map[string]map[string]float64)
	for _, v := range g.Variants {
		if v.Score.counts(v) {
			out[v.RunID] = map[string]float64{v.Score.Scorer: v.Score.Value}
		}
	}
	return out
}

// Count returns how many variants have each status, in words: "4 variants: 1 failed, 3 finished".
func (g *Group) Count() string {
	count := make(map[string]int)
	var words []string
	for _, v := range g.Variants {
		if count[v.Status]++; count[v.Status] == 1 {
			words = append(words, v.Status)
		}
	}
	slices.Sort(words)
	for i, status := range words {
		words[i] = fmt.Sprintf("%d %s", count[status], strings.ReplaceAll(status, "-", " "))
	}
	return plain.Count(len(g.Variants), "variant") + ": " + strings.Join(words, ", ")
}

// Fold returns a list of runs without the variants of the sweeps in it that this clone has recorded, and how many each sweep has. It knows variants by
// their ids.
func Fold(s *timeline.Store, runs []list.RunInfo) ([]list.RunInfo, map[string]int, error) {
	count, most := make(map[string]int), make(map[string]int)
	for _, run := range runs {
		if run.WorkflowName != workflow.SweepName {
			continue
		}
		head, err := list.HeadOf(s, run)
		if err != nil {
			return nil, nil, err
		}
		origin, err := s.Origin(head.Entry())
		if err != nil {
			return nil, nil, err
		}
		if plan, err := PlanOf(head); err == nil && plan != nil && origin == timeline.Recorded {
			most[run.RunID] = len(plan.Variants)
		}
	}
	return slices.DeleteFunc(slices.Clone(runs), func(run list.RunInfo) bool {
		at := strings.LastIndexByte(run.RunID, '.')
		if at < 0 {
			return false
		}
		number := workflow.VariantOf(run.RunID[at+1:])
		member := number > 0 && number <= most[run.RunID[:at]]
		if member {
			count[run.RunID[:at]]++
		}
		return member
	}), count, nil
}
