package tree

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/snapshot"
)

// tree makes a rendered tree of an outline: an element a line, indented by tabs, with its tag, its id
// if that has no "=", and its other props.
func tree(t *testing.T, outline string) string {
	t.Helper()
	type open struct {
		element  *Element
		children []*open
	}
	root := &open{element: &Element{Tag: "root"}}
	stack := []*open{root}
	for line := range strings.Lines(strings.Trim(outline, "\n")) {
		depth := len(line) - len(strings.TrimLeft(line, "\t"))
		words := strings.Fields(line)
		e := &Element{Tag: "smithers:" + words[0], Props: map[string]string{}}
		for i, word := range words[1:] {
			name, value, ok := strings.Cut(word, "=")
			if !ok && i == 0 {
				name, value = "id", word
			}
			e.Props[name] = value
		}
		o := &open{element: e}
		require.Less(t, depth, len(stack), line)
		stack = append(stack[:depth+1], o)
		stack[depth].children = append(stack[depth].children, o)
	}
	var text func(o *open) string
	text = func(o *open) string {
		children := []string{`{"kind":"text","text":"words"}`} // which count for nothing
		for _, child := range o.children {
			children = append(children, text(child))
		}
		return fmt.Sprintf(`{"kind":"element","tag":%q,"props":%s,"children":[%s]}`, o.element.Tag, propsText(t, o.element.Props), strings.Join(children, ","))
	}
	require.Len(t, root.children, 1)
	return text(root.children[0])
}

func propsText(t *testing.T, props map[string]string) string {
	t.Helper()
	text, err := json.Marshal(props)
	require.NoError(t, err)
	return string(text)
}

// needsText shows places: a line for each task, with the loop that it is in.
func needsText(at map[string]Place) string {
	var b strings.Builder
	for _, id := range slices.Sorted(maps.Keys(at)) {
		fmt.Fprintf(&b, "%s: %s", id, strings.Join(at[id].Needs, " "))
		if loop := at[id].RalphID; loop != "" {
			fmt.Fprintf(&b, " (in %s)", loop)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestWhatTasksNeedFollowsFromWhereTheyAre(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ outline, want string }{
		"a sequence": {`
workflow
	sequence
		task a
		task b
		task c
`, `
a: 
b: a
c: b
`},
		"the children of a workflow": {`
workflow
	task a
	task b
`, `
a: 
b: a
`},
		"a parallel in a sequence": {`
sequence
	task a
	parallel
		task b
		task c
	task d
`, `
a: 
b: a
c: a
d: b c
`},
		"sequences in a parallel": {`
sequence
	task a
	parallel
		sequence
			task b1
			task b2
		sequence
			task c1
			task c2
	task d
`, `
a: 
b1: a
b2: b1
c1: a
c2: c1
d: b2 c2
`},
		"a merge queue is a parallel": {`
sequence
	task a
	merge-queue
		task b
		task c
	task d
`, `
a: 
b: a
c: a
d: b c
`},
		"branches, worktrees, fragments and what is not known are parallels of their children": {`
sequence
	task a
	branch
		task b
	worktree
		task c1
		task c2
	fragment
		task d
	something
		task e
	task f
`, `
a: 
b: a
c1: b
c2: b
d: c1 c2
e: d
f: e
`},
		"what holds no task is as if it were not there": {`
sequence
	task a
	branch
	parallel
		sequence
		branch
	task b
`, `
a: 
b: a
`},
		"a loop": {`
sequence
	task plan
	ralph refine
		sequence
			task write
			task verify
	task ship
`, `
plan: 
ship: verify
verify: write (in refine)
write: plan (in refine)
`},
		"the children of a loop itself run beside each other": {`
ralph l
	task a
	task b
`, `
a:  (in l)
b:  (in l)
`},
		"a loop without an id is called by where it is": {`
workflow
	task a
	sequence
		ralph until=false
			task b
`, `
a: 
b: a (in ralph:1.0)
`},
		"a loop in a loop": {`
ralph outer
	sequence
		task a
		ralph inner
			task b
		task c
`, `
a:  (in outer)
b: a (in inner)
c: b (in outer)
`},
		"approvals and human tasks are tasks": {`
sequence
	task ship needsApproval=true approvalMode=decision
	task ask needsApproval=true
	task after
`, `
after: ask
ask: ship
ship: 
`},
		"what waits for signals and for time": {`
sequence
	task a
	wait-for-event ping event=ping
	timer nap duration=1m
	task b
`, `
a: 
b: nap
nap: ping
ping: a
`},
		"what waits while others go on is needed by none of them": {`
sequence
	task a
	task ship needsApproval=true waitAsync=true
	wait-for-event ping waitAsync=true
	task b waitAsync=false
	task c
`, `
a: 
b: a
c: b
ping: a
ship: a
`},
		"subflows and sandboxes are tasks": {`
sequence
	task a
	subflow s mode=childRun
	subflow t
	sandbox box
		task inside
	task b
`, `
a: 
b: box
box: t
s: a
t: s
`},
		"a subflow inline is a sequence": {`
sequence
	task a
	subflow s mode=inline
		task b
		task c
	task d
`, `
a: 
b: a
c: b
d: c
`},
		"a task that takes over a session": {`
parallel
	task a
	task b fork=a
`, `
a: 
b: a
`},
		"a saga takes back its actions in reverse": {`
sequence
	task before
	saga s
		saga-actions
			task a1
			task a2
		saga-compensations
			task undo1
			task undo2
	task after
`, `
a1: before
a2: a1
after: a2 undo1
before: 
undo1: a1 undo2
undo2: a2
`},
		"a saga's own children are actions": {`
saga s
	task a1
	task a2
`, `
a1: 
a2: a1
`},
		"what is tried, caught, and done finally": {`
sequence
	task before
	try-catch-finally t
		tcf-try
			task a
			task b
		tcf-catch
			task c
		tcf-finally
			task f
	task after
`, `
a: before
after: f
b: a
before: 
c: b
f: b c
`},
		"what is tried without finally": {`
sequence
	try-catch-finally t
		tcf-try
			task a
		tcf-catch
			task c
	task after
`, `
a: 
after: a c
c: a
`},
		"the end of a run that is continued as another": {`
sequence
	task a
	continue-as-new
	task b
`, `
a: 
b: a
`},
		"tasks without ids": {`
sequence
	task a
	task label=x
	task b
`, `
a: 
b: a
`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, strings.TrimLeft(tt.want, "\n"), needsText(Places(tree(t, tt.outline))))
		})
	}
}

func TestNoTreeHasNoPlaces(t *testing.T) {
	t.Parallel()
	for _, tree := range []string{"", "null", "{", `{"kind":"text","text":"a"}`} {
		assert.Empty(t, Places(tree), tree)
	}
}

func TestNodesOfLoopsInLoopsNeedThoseOfTheirOwnIteration(t *testing.T) {
	t.Parallel()
	at := Places(tree(t, `
sequence
	ralph outer
		sequence
			task a
			ralph inner
				sequence
					task x
					task y
			task c
	task end
`))
	nodes := []snapshot.Node{
		{NodeID: "a", Iteration: 0},
		{NodeID: "a", Iteration: 1},
		{NodeID: "x@@outer=0"},
		{NodeID: "y@@outer=0"},
		{NodeID: "x@@outer=1", Iteration: 3},
		{NodeID: "y@@outer=1", Iteration: 3},
		{NodeID: "c", Iteration: 0},
		{NodeID: "c", Iteration: 1},
		{NodeID: "end"},
		{NodeID: "elsewhere"},
	}
	require.NoError(t, PlaceNodes(nodes, at))
	var lines []string
	for _, n := range nodes {
		loop := "-"
		if n.RalphID != nil {
			loop = *n.RalphID
		}
		lines = append(lines, snapshot.Key(n.NodeID, n.Iteration)+" in "+loop+" needs "+strings.Join(n.Needs, " "))
	}
	assert.Equal(t, []string{
		"a::0 in outer needs ",
		"a::1 in outer needs ",
		"x@@outer=0::0 in inner@@outer=0 needs a",
		"y@@outer=0::0 in inner@@outer=0 needs x@@outer=0",
		"x@@outer=1::3 in inner@@outer=1 needs a",
		"y@@outer=1::3 in inner@@outer=1 needs x@@outer=1",
		"c::0 in outer needs y@@outer=0",
		"c::1 in outer needs y@@outer=1",
		"end::0 in - needs c",
		"elsewhere::0 in - needs ",
	}, lines)
	assert.Nil(t, nodes[9].Needs, "nothing is known of it")
	assert.NotNil(t, nodes[0].Needs)
}

func TestTooManyNeedsAreBeyondTheLimits(t *testing.T) {
	t.Parallel()
	const wide = 1025
	at := make(map[string]Place)
	var nodes []snapshot.Node
	var first []string
	for i := range wide {
		id := fmt.Sprintf("a%d", i)
		first = append(first, id)
		nodes = append(nodes, snapshot.Node{NodeID: id})
	}
	for i := range wide {
		id := fmt.Sprintf("b%d", i)
		at[id] = Place{Needs: first}
		nodes = append(nodes, snapshot.Node{NodeID: id})
	}
	require.ErrorIs(t, PlaceNodes(nodes, at), snapshot.ErrLimit)
}

func TestANodeThatIsNotRenderedAnyMoreKeepsItsPlace(t *testing.T) {
	t.Parallel()
	var store objstoretest.Memory
	changes, err := snapshot.ChangesTo(snapshot.EmptyState(), snapshot.Whole{Nodes: []snapshot.Node{
		{NodeID: "a", State: snapshot.NodePending, Needs: []string{"x"}, RalphID: new("l")},
		{NodeID: "b", State: snapshot.NodePending, Needs: []string{"x"}},
	}})
	require.NoError(t, err)
	before, err := snapshot.EmptyState().Edit(&store, changes)
	require.NoError(t, err)
	nodes := []snapshot.Node{{NodeID: "a"}, {NodeID: "b", Needs: []string{}}, {NodeID: "c"}}
	require.NoError(t, KeepPlaces(nodes, before))
	assert.Equal(t, []snapshot.Node{{NodeID: "a", Needs: []string{"x"}, RalphID: new("l")}, {NodeID: "b", Needs: []string{}}, {NodeID: "c"}}, nodes)
}
