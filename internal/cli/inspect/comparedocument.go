package inspect

import (
	"cmp"
	"encoding/json"

	"github.com/git-smithers/git-smithers/internal/app/comparison"
	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
)

// comparisonDocument is the document of compare --json.
type comparisonDocument struct {
	Kind        string                `json:"kind"`
	Base        string                `json:"base"`
	By          *string               `json:"by"`
	Best        []string              `json:"best"`
	Equal       []string              `json:"equal"`
	DecidedBy   *string               `json:"decidedBy"`
	Inputs      []string              `json:"inputs"`
	InputsLeft  int                   `json:"inputsLeftOut"`
	Outputs     []string              `json:"outputs"`
	OutputsLeft int                   `json:"outputsLeftOut"`
	Runs        []comparedRunDocument `json:"runs"`
}

// comparedRunDocument is a run in compare --json.
type comparedRunDocument struct {
	RunID         string                     `json:"runId"`
	BranchLabel   *string                    `json:"branchLabel"`
	WorkflowName  string                     `json:"workflowName"`
	Status        string                     `json:"status"`
	Stale         bool                       `json:"stale,omitempty"`
	Session       bool                       `json:"session,omitempty"`
	Error         *string                    `json:"error"`
	FailedSteps   []string                   `json:"failedSteps"`
	Waiting       []mailbox.Waiting          `json:"waiting"`
	ParentRunID   *string                    `json:"parentRunId"`
	ParentFrameNo *int64                     `json:"parentFrameNo"`
	Depth         int                        `json:"depth"`
	Comes         string                     `json:"differs"`
	First         *alignedRowDocument        `json:"firstDiffers"`
	Input         map[string]json.RawMessage `json:"input"`
	Outputs       map[string]json.RawMessage `json:"outputs"`
	Failed        int                        `json:"failedAttempts"`
	TookMs        int64                      `json:"tookMs"`
	WaitedMs      int64                      `json:"waitedMs"`
	Usage         *summary.Usage             `json:"usage"`
	Code          codeDocument               `json:"code"`
	*agent.Name                              // nil if the run is not a session
}

// codeDocument counts changed files and lines.
type codeDocument struct {
	Files     int   `json:"files"`
	Added     int64 `json:"added"`
	Removed   int64 `json:"removed"`
	Uncounted int   `json:"uncounted"`
}

// newComparisonDocument returns the document of a comparison.
func newComparisonDocument(c *comparison.Comparison) comparisonDocument {
	doc := comparisonDocument{
		Kind: "comparison", Base: c.Runs[0].Row.ID, Best: []string{}, Equal: []string{}, DecidedBy: display.OrNull(c.Decided),
		Inputs: append([]string{}, c.Inputs...), InputsLeft: c.InputsLeft, Outputs: []string{}, OutputsLeft: c.OutputsLeft,
	}
	if c.By != nil {
		doc.By = new(c.By.String())
	}
	for _, i := range c.Best {
		doc.Best = append(doc.Best, c.Runs[i].Row.ID)
	}
	for _, i := range c.Equal {
		doc.Equal = append(doc.Equal, c.Runs[i].Row.ID)
	}
	for _, column := range c.Outputs {
		doc.Outputs = append(doc.Outputs, column.String())
	}
	for _, run := range c.Runs {
		doc.Runs = append(doc.Runs, newComparedRun(c, run))
	}
	return doc
}

// newComparedRun returns the document of a run in a comparison.
func newComparedRun(c *comparison.Comparison, r *comparison.Run) comparedRunDocument {
	doc := comparedRunDocument{
		RunID: r.Row.ID, WorkflowName: r.Row.Workflow, Status: string(r.Row.Status), Stale: r.Stale, Session: r.Session,
		Error: display.OrNull(r.Row.Error), FailedSteps: append([]string{}, r.FailedSteps()...), Waiting: append([]mailbox.Waiting{}, r.Waits...),
		Depth: r.Depth, Input: make(map[string]json.RawMessage), Outputs: r.Outputs, Failed: r.Failed,
		TookMs: r.TookMs, WaitedMs: r.WaitedMs, Usage: r.Usage, Code: codeDocument(r.Code), Name: r.Name,
	}
	if r.Origin != nil {
		doc.ParentRunID, doc.ParentFrameNo = &r.Origin.At.Run, &r.Origin.At.Frame
	}
	if r.Row.Parent != nil {
		doc.BranchLabel = display.OrNull(r.Row.Parent.Label)
	}
	for _, name := range c.Inputs {
		if value, ok := r.Inputs[name]; ok {
			doc.Input[name] = value
		}
	}
	switch {
	case r == c.Runs[0]:
		doc.Comes = "base"
	case r.First.Row != nil:
		doc.Comes, doc.First = "here", new(newAlignedRow(r.First.Row))
	case r.First.Open:
		doc.Comes = "not-yet"
	default:
		doc.Comes = "nowhere"
	}
	return doc
}

// An alignedRowDocument is a step or a tool call in two runs.
type alignedRowDocument struct {
	Op        string               `json:"op"` // same, changed, removed or added
	NodeID    string               `json:"nodeId"`
	Iteration int                  `json:"iteration"`
	Call      *alignedCallDocument `json:"call"`
	Open      bool                 `json:"open,omitempty"`
	From      *outcomeDocument     `json:"from"`
	To        *outcomeDocument     `json:"to"`
	Differs   []differenceDocument `json:"differs"`
}

// An alignedCallDocument is a tool call.
type alignedCallDocument struct {
	ToolName   string          `json:"toolName"`
	Input      json.RawMessage `json:"input,omitempty"`
	FromNumber *int            `json:"fromNumber"`
	ToNumber   *int            `json:"toNumber"`
}

// An outcomeDocument is what came of a step or a tool call in one run.
type outcomeDocument struct {
	State    string `json:"state"`
	TookMs   *int64 `json:"tookMs"`
	WaitedMs *int64 `json:"waitedMs,omitempty"`
	Tries    *int   `json:"attempts,omitempty"`
	Failed   *int   `json:"failedAttempts,omitempty"`
	Added    *int64 `json:"added,omitempty"`
	Removed  *int64 `json:"removed,omitempty"`
}

// A differenceDocument is a difference between two outcomes.
type differenceDocument struct {
	What   string          `json:"what"`
	Table  string          `json:"table,omitempty"`
	Member string          `json:"member,omitempty"`
	From   json.RawMessage `json:"from,omitempty"`
	To     json.RawMessage `json:"to,omitempty"`
	Files  []string        `json:"files,omitempty"`
}

// newAlignedRow returns the document of a row.
func newAlignedRow(row *comparison.Row) alignedRowDocument {
	step := cmp.Or(row.A, row.B)
	doc := alignedRowDocument{Op: opOf(row), NodeID: step.NodeID, Iteration: step.Iteration, Open: row.Open, Differs: []differenceDocument{}}
	if call := cmp.Or(row.CallA, row.CallB); call != nil {
		doc.Call = &alignedCallDocument{ToolName: call.ToolName, Input: call.Said}
		if row.CallA != nil {
			doc.Call.FromNumber, doc.From = &row.CallA.Number, outcomeOfCall(row.CallA)
		}
		if row.CallB != nil {
			doc.Call.ToNumber, doc.To = &row.CallB.Number, outcomeOfCall(row.CallB)
		}
	} else {
		doc.From, doc.To = outcomeOfStep(row.A), outcomeOfStep(row.B)
	}
	for _, d := range row.Differs {
		doc.Differs = append(doc.Differs, differenceDocument(d))
	}
	return doc
}

// opOf returns the word for a row: same, changed, removed or added.
func opOf(row *comparison.Row) string {
	switch {
	case row.Same():
		return "same"
	case row.InBoth():
		return "changed"
	case row.B == nil, row.CallA != nil:
		return "removed"
	}
	return "added"
}

// outcomeOfStep returns the outcome of a step, or nil if s is nil.
func outcomeOfStep(s *comparison.Step) *outcomeDocument {
	if s == nil {
		return nil
	}
	worked, waited := s.TookMs()
	doc := &outcomeDocument{State: string(s.State), TookMs: &worked, WaitedMs: &waited, Tries: new(len(s.Attempts)), Failed: new(s.Failed())}
	if lines := s.Lines(); lines != nil {
		doc.Added, doc.Removed = &lines.Added, &lines.Removed
	}
	return doc
}

// outcomeOfCall returns the outcome of a tool call.
func outcomeOfCall(c *comparison.Call) *outcomeDocument {
	doc := &outcomeDocument{State: c.Status}
	if c.FinishedAtMs != nil {
		doc.TookMs = new(max(0, *c.FinishedAtMs-c.StartedAtMs))
	}
	return doc
}
