package timeline_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestAForkMayEditAnOutput(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	triage(t, s, "parent")
	checked := make(map[string]string)
	child, err := s.Fork(t.Context(), timeline.ForkRequest{
		From: "parent", RunID: "child", Description: "what if",
		Edits: []timeline.Edit{
			{Path: "outputs.a.v", Value: json.RawMessage(`9007199254740993`)},
			{Path: `outputs["a::0"].w`, Value: json.RawMessage(`[1.50]`)},
		},
		CheckOutput: func(n snapshot.Node, output json.RawMessage) error {
			checked[n.NodeID] = string(output)
			return nil
		},
	})
	require.NoError(t, err)
	assert.Equal(t, map[string]string{
		"node a::0": "finished", "node b::0": "pending", "node c::0": "pending",
		"output results/a::0": `{"v":9007199254740993,"w":[1.50]}`, "input": `{"ticket":"T-1","n":9007199254740993}`,
	}, stateOf(t, child.State()))
	assert.Equal(t, map[string]string{"a": `{"v":9007199254740993,"w":[1.50]}`}, checked)
	assert.Equal(t, `what if; sets outputs.a.v, sets outputs["a::0"].w`, child.Row().Parent.Description)
	events, err := child.Entry().Events()
	require.NoError(t, err)
	require.Len(t, events, 3) // the third is SnapshotCaptured
	assert.Equal(t, "OutputEdited", events[1].Type)
	assert.JSONEq(t, `{"runId":"child","nodeId":"a","iteration":0,"paths":["outputs.a.v","outputs[\"a::0\"].w"]}`, string(events[1].Payload))
}

func TestAForkOfForksMayEditWhatWasEdited(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	triage(t, s, "parent")
	_, err := s.Fork(t.Context(), timeline.ForkRequest{From: "parent", RunID: "one", Edits: []timeline.Edit{{Path: "outputs.a.v", Value: json.RawMessage(`2`)}}})
	require.NoError(t, err)
	two, err := s.Fork(t.Context(), timeline.ForkRequest{From: "one:0", Edits: []timeline.Edit{{Path: "outputs.a.v"}}})
	require.NoError(t, err)
	assert.Equal(t, `{}`, stateOf(t, two.State())["output results/a::0"])
}

func TestAnEditThatCannotBeMadeMakesNoFork(t *testing.T) {
	t.Parallel()
	one := json.RawMessage("1")
	for _, c := range []struct {
		name  string
		from  string
		edits []timeline.Edit
		nodes []string
		code  fault.Code
		says  string
	}{
		{"no task", "parent", []timeline.Edit{{Path: "outputs.zebra.v", Value: one}}, nil, fault.NodeNotFound, `outputs.zebra: no task is called "zebra"`},
		{"no result yet", "parent:1", []timeline.Edit{{Path: "outputs.a.v", Value: one}}, nil, fault.InvalidInput, `it is in-progress`},
		{"not a path", "parent", []timeline.Edit{{Path: "outputs.a.v=1", Value: one}}, nil, fault.InvalidInput, `is not the path of a result`},
		{"not a result", "parent", []timeline.Edit{{Path: "input.ticket", Value: one}}, nil, fault.InvalidInput, `is not the path of a result`},
		{"not JSON", "parent", []timeline.Edit{{Path: "outputs.a.v", Value: json.RawMessage(`1,"w":2`)}}, nil, fault.InvalidInput, `outputs.a.v: the value is not JSON`},
		{"into nothing", "parent", []timeline.Edit{{Path: "outputs.a.v.x", Value: one}}, nil, fault.InvalidInput, `outputs.a.v is not an object`},
		{"twice", "parent", []timeline.Edit{{Path: "outputs.a.v", Value: one}, {Path: `outputs.a["v"]`}}, nil, fault.InvalidInput, `is given twice`},
		{"reset, too", "parent", []timeline.Edit{{Path: "outputs.b.v", Value: one}}, []string{"a"}, fault.InvalidInput, `b::0 would be lost`},
		{"refused by the check", "parent", []timeline.Edit{{Path: "outputs.a.v", Value: json.RawMessage(`"no"`)}}, nil, fault.Internal, `no text`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			repo := repotest.New(t, repotest.Commit)
			s := open(t, repo)
			triage(t, s, "parent")
			before := repo.Git("for-each-ref")
			_, err := s.Fork(t.Context(), timeline.ForkRequest{
				From: c.from, Edits: c.edits, Nodes: c.nodes,
				CheckOutput: func(_ snapshot.Node, output json.RawMessage) error {
					if string(output) == `{"v":"no"}` {
						return fault.New(fault.Internal, "%w", errors.New("no text"))
					}
					return nil
				},
			})
			require.ErrorContains(t, err, c.says)
			assert.Equal(t, c.code, fault.CodeOf(err))
			assert.Equal(t, before, repo.Git("for-each-ref"))
		})
	}
}
