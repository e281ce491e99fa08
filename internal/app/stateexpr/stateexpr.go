// Package stateexpr evaluates users' expressions over the state of a frame: "outputs.verdict.approved", "scores.judge > 0.8". The
// language is that of a workflow's conditions.
package stateexpr

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/git-smithers/git-smithers/internal/engine/schema"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Names explains to people what an expression can read.
const Names = "run, frame, status, input, outputs.TABLE, output('TABLE', 'TASK'), state('TASK') and scores.NAME"

// An Expression reads the state of a frame. Safe for concurrent use.
type Expression struct {
	flag  string // that has the text
	text  string
	query *workflow.Query
	limit time.Duration // of an evaluation
	slow  atomic.Bool   // an evaluation took longer: no other begins
}

// maxTime is the longest time of an evaluation: the language has no bound on steps.
const maxTime = 2 * time.Second

// evaluations bounds how many evaluations are under way, among them those for which nobody waits any more.
var evaluations = make(chan struct{}, 8)

// evaluate returns the result of an evaluation, or an error if it takes longer than the limit. Its work then goes on unseen.
func evaluate[T any](e *Expression, with func(map[string]any) (T, error), v *Values) (out T, err error) {
	type result struct {
		value T
		err   error
	}
	if e.slow.Load() {
		return out, errTooSlow
	}
	timer := time.NewTimer(e.limit)
	defer timer.Stop()
	done := make(chan result, 1)
	select {
	case evaluations <- struct{}{}:
	case <-timer.C:
		return out, errTooSlow
	}
	go func() {
		defer func() { <-evaluations }()
		value, err := with(v.env())
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-timer.C:
		e.slow.Store(true)
		return out, errTooSlow
	}
}

var errTooSlow = fmt.Errorf("takes longer than %v", maxTime)

// Lenient returns a function that drops errors of evaluations, which say that one of many runs has no value. It passes the first of them to warn, and
// returns other errors.
func Lenient(warn func(error)) func(error) error {
	warned := false
	return func(err error) error {
		if fault.CodeOf(err) != fault.InvalidExpression {
			return err
		}
		if !warned {
			warn(err)
		}
		warned = true
		return nil
	}
}

// Compile compiles an expression with any result. The code of an error is invalid_expression. flag names the flag that has the expression.
func Compile(flag, text string) (*Expression, error) {
	return compile(flag, text, workflow.CompileQuery)
}

// CompileTest is Compile for an expression that must be true or false.
func CompileTest(flag, text string) (*Expression, error) {
	return compile(flag, text, workflow.CompileTest)
}

func compile(flag, text string, with func(string, map[string]any) (*workflow.Query, error)) (*Expression, error) {
	query, err := with(text, new(Values).env())
	if err != nil {
		return nil, fault.New(fault.InvalidExpression, "--%s %q: %w", flag, text, err).Hint("an expression reads " + Names)
	}
	return &Expression{flag: flag, text: text, query: query, limit: maxTime}, nil
}

// CheckOutputs compares the outputs that the expression names with those that are known: by table, the names of members, or none if a row may have any. The
// code of the error, which is about a table, is invalid_expression. doubt is about a member, or nil.
func (e *Expression) CheckOutputs(known map[string][]string) (doubt, err error) {
	for _, ref := range e.query.Refs {
		if _, ok := known[ref.Table]; !ok {
			return nil, fault.New(fault.InvalidExpression, "--%s %q: there is no output %q%s", e.flag, e.text, ref.Table, near(ref.Table, slices.Sorted(maps.Keys(known))))
		}
	}
	for _, ref := range e.query.Members {
		if members := known[ref.Table]; len(members) > 0 && !slices.Contains(members, ref.Member) {
			doubt = fmt.Errorf("--%s %q: outputs.%s has no member %q that is known%s", e.flag, e.text, ref.Table, ref.Member, near(ref.Member, members))
		}
	}
	return doubt, nil
}

// near returns the end of a message about a name that is not among the known ones.
func near(name string, known []string) string {
	if best, ok := plain.Nearest(name, known); ok {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	if len(known) == 0 {
		return ""
	}
	return "; it can be " + plain.Cut(strings.Join(known, ", "), 200)
}

// String returns the text of the expression.
func (e *Expression) String() string { return e.text }

// Holds reports whether the expression is true. Null is false. A result that is neither is the error invalid_expression.
func (e *Expression) Holds(v *Values) (bool, error) {
	holds, err := evaluate(e, e.query.Holds, v)
	return holds, e.explain(v, err)
}

// Number returns the value of the expression as a number. True is 1 and false is 0. ok is false if the value is null. Any other value is
// the error invalid_expression.
func (e *Expression) Number(v *Values) (n float64, ok bool, err error) {
	value, err := evaluate(e, e.query.Value, v)
	if err != nil {
		return 0, false, e.explain(v, err)
	}
	switch n := reflect.ValueOf(value); {
	case value == nil:
		return 0, false, nil
	case n.Kind() == reflect.Bool && n.Bool():
		return 1, true, nil
	case n.Kind() == reflect.Bool:
		return 0, true, nil
	case n.CanInt():
		return float64(n.Int()), true, nil
	case n.CanUint():
		return float64(n.Uint()), true, nil
	case n.CanFloat() && !math.IsNaN(n.Float()) && !math.IsInf(n.Float(), 0):
		return n.Float(), true, nil
	}
	return 0, false, fault.New(fault.InvalidExpression, "%s:%d: %q is neither a number nor true or false", v.Run, v.Frame, e.text)
}

// explain returns err with the frame and the expression.
func (e *Expression) explain(v *Values, err error) error {
	if err == nil {
		return nil
	}
	return fault.New(fault.InvalidExpression, "%s:%d: %q: %w", v.Run, v.Frame, e.text, err).
		Hint("an output that is not there is null: (outputs.TABLE.MEMBER ?? 0) is 0 then")
}

// Values are what expressions read of a frame. The caller must not change them. Its JSON is a program's view of the frame: one object.
type Values struct {
	Run     string                     `json:"run"`
	Frame   int64                      `json:"frame"`
	Status  snapshot.RunStatus         `json:"status"`
	Input   json.RawMessage            `json:"input"`   // null without an input
	Outputs map[string]json.RawMessage `json:"outputs"` // the newest row of each table: of the node whose attempt ended last
	Nodes   map[string]string          `json:"nodes"`   // the state of each node at its newest iteration, by node id
	Scores  map[string]float64         `json:"scores"`  // the mean of what each scorer gave, by the scorer's name

	byNode map[[2]string]json.RawMessage // the row of each table and node, of its newest iteration
}

// env returns the names of an expression and their values.
func (v *Values) env() map[string]any {
	outputs := make(map[string]any, len(v.Outputs))
	for table, text := range v.Outputs {
		outputs[table] = decode(text)
	}
	scores := make(map[string]any, len(v.Scores))
	for name, mean := range v.Scores {
		scores[name] = mean
	}
	input, _ := decode(v.Input).(map[string]any)
	return map[string]any{
		"run": v.Run, "frame": v.Frame, "status": string(v.Status), "input": input, "outputs": outputs, "scores": scores,
		"output": func(table, node string) any { return decode(v.byNode[[2]string{table, node}]) },
		"state": func(node string) any {
			if state, ok := v.Nodes[node]; ok {
				return state
			}
			return nil
		},
	}
}

// decode returns a JSON value for an expression, and nil for no value.
func decode(text json.RawMessage) any {
	if text == nil {
		return nil
	}
	_, value, err := schema.DecodeValue(text)
	if err != nil { // stored JSON is valid
		return nil
	}
	return value
}

// Of returns the values of a frame.
func Of(at timeline.Address, entry *snapshot.Entry) (*Values, error) {
	v := &Values{Run: at.Run, Frame: at.Frame, Outputs: map[string]json.RawMessage{}, Nodes: map[string]string{}, Scores: map[string]float64{}, byNode: map[[2]string]json.RawMessage{}}
	row, err := entry.RunRow()
	if err != nil {
		return nil, timeline.Explain(err)
	}
	v.Status = row.Status
	state, err := entry.State()
	if err != nil {
		return nil, timeline.Explain(err)
	}
	if v.Input, err = state.Input(); err != nil {
		return nil, timeline.Explain(err)
	}
	for _, read := range []func(*snapshot.Entry, *snapshot.State) error{v.readNodes, v.readOutputs, v.readScores} {
		if err := read(entry, state); err != nil {
			return nil, timeline.Explain(err)
		}
	}
	return v, nil
}

// readNodes sets v.Nodes.
func (v *Values) readNodes(_ *snapshot.Entry, state *snapshot.State) error {
	newest := make(map[string]int)
	for node, err := range state.AllNodes() {
		if err != nil {
			return err
		}
		if at, ok := newest[node.NodeID]; !ok || node.Iteration > at {
			newest[node.NodeID], v.Nodes[node.NodeID] = node.Iteration, string(node.State)
		}
	}
	return nil
}

// readOutputs sets v.Outputs and v.byNode.
func (v *Values) readOutputs(entry *snapshot.Entry, state *snapshot.State) error {
	ended := make(map[string]int64) // when the newest attempt of a node ended, by the node's key
	for a, err := range entry.AllAttempts() {
		if err != nil {
			return err
		}
		if a.FinishedAtMs != nil {
			key := snapshot.Key(a.NodeID, a.Iteration)
			ended[key] = max(ended[key], *a.FinishedAtMs)
		}
	}
	for _, table := range state.Tables() {
		newest := make(map[string]int) // by node
		best, bestIteration := int64(-1), -1
		for row, err := range state.Outputs(table).Rows() {
			if err != nil {
				return err
			}
			node, iteration, err := snapshot.SplitKey(row.Key)
			if err != nil {
				return err
			}
			if at, ok := newest[node]; !ok || iteration > at {
				newest[node], v.byNode[[2]string{table, node}] = iteration, row.Value
			}
			if at := ended[row.Key]; at > best || at == best && iteration > bestIteration {
				best, bestIteration, v.Outputs[table] = at, iteration, row.Value
			}
		}
	}
	return nil
}

// readScores sets v.Scores.
func (v *Values) readScores(entry *snapshot.Entry, _ *snapshot.State) error {
	count := make(map[string]float64)
	for s, err := range entry.AllScores() {
		if err != nil {
			return err
		}
		name := s.ScorerName
		if name == "" {
			name = s.ScorerID
		}
		var score float64
		if err := json.Unmarshal(s.Score, &score); err != nil {
			return err
		}
		v.Scores[name] += score
		count[name]++
	}
	for name := range maps.Keys(v.Scores) {
		v.Scores[name] /= count[name]
	}
	return nil
}
