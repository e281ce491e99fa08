package timeline_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestAPlainForkIsARefCopy(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	triage(t, s, "parent")
	child, err := s.Fork(t.Context(), timeline.ForkRequest{From: "parent:2", RunID: "child", Label: "idea", Description: "what if"})
	require.NoError(t, err)

	assert.Equal(t, repo.Git("rev-parse", "refs/smithers/parent/2"), repo.Git("rev-parse", "refs/smithers/child/0"))
	assert.Equal(t, repo.Git("rev-parse", "refs/smithers/parent/2:nodes"), repo.Git("rev-parse", "refs/smithers/_tip/child:nodes"))
	assert.Equal(t, child.Entry().ID.String(), repo.Git("rev-parse", "refs/smithers/_tip/child"))
	row := child.Row()
	assert.Equal(t, snapshot.RunPending, row.Status)
	assert.EqualValues(t, 0, row.Frame)
	require.NotNil(t, row.Parent)
	assert.Equal(t, "idea", row.Parent.Label)

	branch, err := list.BranchOf(t.Context(), s, "child")
	require.NoError(t, err)
	require.NotNil(t, branch)
	assert.Equal(t, "parent", branch.ParentRunID)
	assert.EqualValues(t, 2, branch.ParentFrameNo)
	assert.Equal(t, "what if", *branch.ForkDescription)
}

func TestTheFramesOfAForkGoOnFromZero(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	triage(t, s, "parent")
	child, err := s.Fork(t.Context(), timeline.ForkRequest{From: "parent:2", RunID: "child"})
	require.NoError(t, err)
	require.NoError(t, child.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{State: []snapshot.Change{node(t, "b", snapshot.NodeFailed, "a")}}}))

	tree, err := list.Timeline(t.Context(), s, "child", list.TreeOptions{})
	require.NoError(t, err)
	require.Len(t, tree.Timeline.Frames, 2)
	parent, err := s.Load(t.Context(), "parent:2")
	require.NoError(t, err)
	assert.Equal(t, parent.Entry.ID.String(), tree.Timeline.Frames[0].Commit)
	assert.EqualValues(t, 1, tree.Timeline.Frames[1].FrameNo)
	zero, err := s.Load(t.Context(), "child:0")
	require.NoError(t, err)
	assert.Equal(t, parent.Entry.ID, zero.Entry.ID)
}

func TestAForkMayReset(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		req  timeline.ForkRequest
		want map[string]string
	}{
		{
			"a node and everything downstream of it",
			timeline.ForkRequest{Nodes: []string{"a"}},
			map[string]string{"node a::0": "pending", "node b::0": "pending", "node c::0": "pending"},
		},
		{
			"a node in the middle keeps what is upstream",
			timeline.ForkRequest{Nodes: []string{"b"}},
			map[string]string{"node a::0": "finished", "node b::0": "pending", "node c::0": "pending", "output results/a::0": `{"v":1}`},
		},
		{
			"a node alone",
			timeline.ForkRequest{Nodes: []string{"a"}, NoDeps: true},
			map[string]string{"node a::0": "pending", "node b::0": "finished", "node c::0": "pending", "output results/b::0": `{"v":2}`},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			repo := repotest.New(t, repotest.Commit)
			s := open(t, repo)
			triage(t, s, "parent")
			c.req.From, c.req.RunID = "parent", "child"
			child, err := s.Fork(t.Context(), c.req)
			require.NoError(t, err)
			c.want["input"] = `{"ticket":"T-1","n":9007199254740993}`
			assert.Equal(t, c.want, stateOf(t, child.State()))
			assert.Equal(t, child.Entry().ID.String(), repo.Git("rev-parse", "refs/smithers/child/0"))
			assert.EqualValues(t, 0, child.Entry().Frame)
		})
	}
}

func TestInputOfAForkIsMergedOverItsParents(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, override, want string }{
		{"a name keeps its place and other values their bytes", `{"ticket":"T-2"}`, `{"ticket":"T-2","n":9007199254740993}`},
		{"a new name is appended", `{"z": [1.0, 2]}`, `{"ticket":"T-1","n":9007199254740993,"z":[1.0, 2]}`},
		{"null is a value", `{"n":null}`, `{"ticket":"T-1","n":null}`},
		{"an escaped name is the same name", `{"\u006e":1}`, `{"ticket":"T-1","\u006e":1}`},
		{"the empty object changes nothing", `{}`, `{"ticket":"T-1","n":9007199254740993}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := open(t, repotest.New(t, repotest.Commit))
			triage(t, s, "parent")
			child, err := s.Fork(t.Context(), timeline.ForkRequest{From: "parent", Input: []byte(c.override)})
			require.NoError(t, err)
			in, err := child.State().Input()
			require.NoError(t, err)
			assert.Equal(t, c.want, string(in))
		})
	}
}

func TestAForkThatIsRefusedChangesNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		req  timeline.ForkRequest
		code fault.Code
	}{
		{"unknown run", timeline.ForkRequest{From: "nope"}, fault.RunNotFound},
		{"unknown frame", timeline.ForkRequest{From: "parent:9"}, fault.FrameNotFound},
		{"unknown node", timeline.ForkRequest{From: "parent:2", Nodes: []string{"zz"}}, fault.NodeNotFound},
		{"input that is not an object", timeline.ForkRequest{From: "parent:2", Input: []byte(`[1]`)}, fault.InvalidInput},
		{"input that is not JSON", timeline.ForkRequest{From: "parent:2", Input: []byte(`{"a":`)}, fault.InvalidInput},
		{"two values as input", timeline.ForkRequest{From: "parent:2", Input: []byte(`{} {}`)}, fault.InvalidInput},
		{
			"input that the workflow does not take",
			timeline.ForkRequest{
				From: "parent:2", Input: []byte(`{"ticket":7}`),
				CheckInput: func(in json.RawMessage) error { return fault.New(fault.InvalidInput, "not %s", in) },
			},
			fault.InvalidInput,
		},
		{"an id that exists", timeline.ForkRequest{From: "parent:2", RunID: "parent"}, fault.RunExists},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			repo := repotest.New(t, repotest.Commit)
			s := open(t, repo)
			triage(t, s, "parent")
			before := repo.Git("for-each-ref")
			_, err := s.Fork(t.Context(), c.req)
			assert.Equal(t, c.code, fault.CodeOf(err), "%v", err)
			assert.Equal(t, before, repo.Git("for-each-ref"))
		})
	}
}

func TestATreeShowsForksOfForks(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	triage(t, s, "root")
	for _, f := range []timeline.ForkRequest{
		{From: "root:1", RunID: "left", Label: "l"}, {From: "root:3", RunID: "right"}, {From: "left:0", RunID: "leaf"},
	} {
		_, err := s.Fork(t.Context(), f)
		require.NoError(t, err)
	}
	tree, err := list.Timeline(t.Context(), s, "root", list.TreeOptions{Tree: true})
	require.NoError(t, err)
	assert.Equal(t, "root(left(leaf) right)", outline(*tree))
	assert.Equal(t, "left", tree.Timeline.Frames[1].Forks[0].RunID)
	assert.Empty(t, tree.Timeline.Frames[2].Forks)
	branches, err := list.Branches(t.Context(), s, "root")
	require.NoError(t, err)
	assert.Len(t, branches, 2)
}

func outline(tree list.Tree) string {
	if len(tree.Children) == 0 {
		return tree.Timeline.RunID
	}
	var children []string
	for _, child := range tree.Children {
		children = append(children, outline(child))
	}
	return tree.Timeline.RunID + "(" + strings.Join(children, " ") + ")"
}

func TestAForkOutlivesItsParentsRefs(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	triage(t, s, "parent")
	_, err := s.Fork(t.Context(), timeline.ForkRequest{From: "parent:3", RunID: "child"})
	require.NoError(t, err)
	for ref := range strings.FieldsSeq(repo.Git("for-each-ref", "--format=%(refname)", "refs/smithers/parent", "refs/smithers/_tip/parent")) {
		repo.Git("update-ref", "-d", ref)
	}
	repo.Git("gc", "--quiet", "--prune=now")
	child, err := s.Load(t.Context(), "child")
	require.NoError(t, err)
	state, err := child.Entry.State()
	require.NoError(t, err)
	assert.Equal(t, "in-progress", stateOf(t, state)["node b::0"])
	runs, err := list.Runs(t.Context(), s)
	require.NoError(t, err)
	assert.Len(t, runs, 1)
}

func TestADryRunOfAForkIsHandedTheDraftAndMakesNothing(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	triage(t, s, "parent")
	before := repo.Git("for-each-ref")
	var draft snapshot.Draft
	head, err := s.Fork(t.Context(), timeline.ForkRequest{
		From: "parent:2", RunID: "child", Nodes: []string{"a"},
		DryRun: func(from *timeline.LoadedEntry, d snapshot.Draft) error {
			draft = d
			assert.Equal(t, "parent:2", from.Address.String())
			return nil
		},
	})
	require.NoError(t, err)
	assert.Nil(t, head)
	require.NotNil(t, draft.Frame)
	assert.NotEmpty(t, draft.Frame.State)
	assert.Equal(t, before, repo.Git("for-each-ref"))
	assert.NoError(t, timeline.CheckFree(t.Context(), s, "child"))
}
