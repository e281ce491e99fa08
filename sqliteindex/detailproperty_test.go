package sqliteindex_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
)

// schemaVariants are schemas that one key may have in one definition or another.
var schemaVariants = []string{
	`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}}}`,
	`{"type":"object","properties":{"a":{"type":"string"},"c":{"type":"boolean"}}}`,
	`{"type":"object","properties":{"b":{"type":"number"},"d":{"type":"array"}}}`,
	`{"type":"object","properties":{"a":{"type":"number"}}}`,
	`{"type":"string"}`,
}

var outputVariants = []string{
	`{"a":"x","b":1,"c":true,"d":[1, 2]}`, `{"a":2.5,"b":12345678901234567890}`, `{"c":false}`, `"text"`, `null`,
}

// story does to runs what engines and people do, in any order.
type story struct {
	*testing.T

	w    *world
	tips map[string]*snapshot.Entry
}

func (s *story) pick(rt *rapid.T) (string, *snapshot.Entry) {
	name := rapid.SampledFrom([]string{"a", "B/x", "c"}).Draw(rt, "run")
	return name, s.tips[name]
}

func (s *story) workflow(rt *rapid.T) *snapshot.Workflow {
	schemas := map[string]string{}
	for _, key := range []string{"out", "otherOut", "plain"} {
		if rapid.Bool().Draw(rt, "has "+key) {
			schemas[key] = rapid.SampledFrom(schemaVariants).Draw(rt, "schema")
		}
	}
	return definition(schemas)
}

func (s *story) start(rt *rapid.T, name string) {
	draft := s.w.workflowDraft(name, rapid.SampledFrom([]string{"one", "two"}).Draw(rt, "workflow"), nil)
	draft.Workflow = s.workflow(rt)
	s.tips[name] = s.w.run(s, name, draft)
}

// change is one change of a state.
func (s *story) change(rt *rapid.T, tip *snapshot.Entry) []snapshot.Change {
	node := rapid.SampledFrom([]string{"n", "m"}).Draw(rt, "node")
	iteration := rapid.IntRange(0, 1).Draw(rt, "iteration")
	table := rapid.SampledFrom([]string{"out", "otherOut", "plain", "unknown"}).Draw(rt, "table")
	state, err := tip.State()
	require.NoError(s, err)
	switch rapid.SampledFrom([]string{"node", "gone", "loop", "output", "no output", "input", "approval", "human", "signal", "wait"}).Draw(rt, "kind") {
	case "node":
		label := rapid.SampledFrom([]string{"L", "M"}).Draw(rt, "label")
		return []snapshot.Change{setNode(snapshot.Node{NodeID: node, Iteration: iteration, State: snapshot.NodePending, Label: &label, OutputTable: table})}
	case "gone":
		return []snapshot.Change{{Op: snapshot.OpRemove, Collection: snapshot.CollectionNodes, Key: snapshot.Key(node, iteration)}}
	case "loop":
		return []snapshot.Change{setLoop(snapshot.Loop{RalphID: node, Iteration: iteration, Done: rapid.Bool().Draw(rt, "done")})}
	case "output":
		return []snapshot.Change{setOutput(table, node, iteration, rapid.SampledFrom(outputVariants).Draw(rt, "output"))}
	case "no output":
		return []snapshot.Change{{Op: snapshot.OpRemove, Collection: snapshot.OutputCollection(table), Key: snapshot.Key(node, iteration)}}
	case "input":
		return []snapshot.Change{setInput(rapid.SampledFrom([]string{`{"i":1}`, `2`}).Draw(rt, "input"))}
	case "approval":
		return []snapshot.Change{setApproval(snapshot.Approval{NodeID: node, Iteration: iteration, Attempt: 1, Status: snapshot.ApprovalRequested, Title: "T", RequestedAtMs: s.w.clock})}
	case "human":
		return []snapshot.Change{setHuman(snapshot.HumanRequest{NodeID: node, Iteration: iteration, Attempt: 1, Kind: snapshot.HumanSelect, Status: snapshot.HumanPending, Form: []byte(`{"enum":["x","y"]}`), Prompt: "?"})}
	case "signal":
		return []snapshot.Change{setSignal(snapshot.Signal{Seq: int64(state.Signals().Len()), Name: "go", Payload: []byte(`{}`), ReceivedAtMs: s.w.clock})}
	}
	return []snapshot.Change{setWait(snapshot.Wait{NodeID: node, Iteration: iteration, Attempt: 1, Kind: snapshot.WaitSignal, Status: snapshot.WaitWaiting, Signal: "go", StartedAtMs: s.w.clock})}
}

// append adds a frame with changes, and now and then another definition.
func (s *story) append(rt *rapid.T) {
	name, tip := s.pick(rt)
	if tip == nil {
		s.start(rt, name)
		return
	}
	for range rapid.IntRange(1, 4).Draw(rt, "entries") {
		draft := stateDraft(s.change(rt, tip)...)
		draft.Events = []snapshot.Event{{Type: "NodeStarted", AtMs: s.w.clock, Payload: []byte(`{"nodeId":"n"}`)}}
		if rapid.IntRange(0, 3).Draw(rt, "call") == 0 {
			draft.Journal = append(draft.Journal, snapshot.SetScore(snapshot.Score{
				NodeID: "n", Attempt: 1, Source: snapshot.ScoreLive, ScorerID: rapid.SampledFrom([]string{"a", "b:c"}).Draw(rt, "scorer"),
				Score: []byte("0.5"), ScoredAtMs: s.w.clock,
			}))
			status := rapid.SampledFrom([]string{snapshot.ToolCallIntended, snapshot.ToolCallFailed}).Draw(rt, "status")
			draft.Journal = append(draft.Journal, snapshot.SetToolCall(snapshot.ToolCall{
				NodeID: "n", Attempt: 1, Seq: rapid.IntRange(1, 3).Draw(rt, "seq"), ToolName: "bash", Status: status, StartedAtMs: s.w.clock,
			}))
		}
		if rapid.IntRange(0, 5).Draw(rt, "definition") == 0 {
			draft.Workflow = s.workflow(rt)
		}
		tip = s.w.write(s, tip, draft)
	}
	s.tips[name] = tip
	s.w.setTip(s, name, tip.ID)
}

// travel goes back to the state of an earlier frame.
func (s *story) travel(rt *rapid.T) {
	name, tip := s.pick(rt)
	if tip == nil || tip.Frame < 2 {
		return
	}
	target := tip
	for range rapid.IntRange(2, int(tip.Frame)).Draw(rt, "back") {
		parent, err := snapshot.ReadEntry(s.w.objects, target.Parent)
		require.NoError(s, err)
		if parent.Run != name || parent.Frame == snapshot.NoFrame {
			return
		}
		target = parent
	}
	state, err := target.State()
	require.NoError(s, err)
	ops, err := tip.Ops()
	require.NoError(s, err)
	op := snapshot.Op{Number: ops.Len() + 1, Kind: snapshot.OpTravel, Before: tip.ID, Frame: new(tip.Frame + 1), To: &target.Frame, NodeID: "n", Attempt: 1}
	s.tips[name] = s.w.extend(s, tip, snapshot.Draft{
		Frame:   &snapshot.FrameDraft{Restore: state, Based: &target.Frame, Silent: true},
		Subject: "travelled", Journal: []snapshot.Change{setOp(op)},
	})
}

func (s *story) fork(rt *rapid.T) {
	name, tip := s.pick(rt)
	child, _ := s.pick(rt)
	if tip == nil || child == name || tip.Frame == snapshot.NoFrame {
		return
	}
	s.tips[child] = s.w.fork(s, child, snapshot.Parent{RunID: name, Frame: tip.Frame}, tip, rapid.Bool().Draw(rt, "state"))
}

func (s *story) rewind(rt *rapid.T) {
	name, tip := s.pick(rt)
	if tip == nil || tip.Parent.IsZero() {
		return
	}
	back, err := snapshot.ReadEntry(s.w.objects, tip.Parent)
	require.NoError(s, err)
	if back.Run == name {
		s.tips[name] = back
		s.w.setTip(s, name, back.ID)
	}
}

func (s *story) delete(rt *rapid.T) {
	name, tip := s.pick(rt)
	if tip != nil {
		s.w.dropTip(s, name)
		delete(s.tips, name)
	}
}

// TestDetailsInStepsAreDetailsReadAtOnce brings details up to date now and then, for
// one run or for all, and compares the whole database with one that was rebuilt.
func TestDetailsInStepsAreDetailsReadAtOnce(t *testing.T) {
	t.Parallel()
	repotest.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		w.quick = true
		s := &story{T: t, w: w, tips: map[string]*snapshot.Entry{}}
		x := w.index(t)
		rt.Repeat(map[string]func(*rapid.T){
			"append":  s.append,
			"travel":  s.travel,
			"fork":    s.fork,
			"rewind":  s.rewind,
			"delete":  s.delete,
			"details": func(*rapid.T) { require.NoError(t, x.SyncDetails(t.Context())) },
			"details of one": func(rt *rapid.T) {
				name, _ := s.pick(rt)
				require.NoError(t, x.SyncDetails(t.Context(), name))
			},
		})
		require.NoError(t, x.SyncDetails(t.Context()))
		require.Empty(t, x.Problems())
		require.Equal(t, w.detailTruth(t), tablesAt(t, detailsPath(w.indexPath())), fmt.Sprint(s.tips))
	})
}
