package diff_test

import (
	"fmt"
	"os"

	"github.com/git-smithers/git-smithers/diff"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// The lists of a result have the keys of rows that only one side has, and both rows where they differ.
func ExampleStates() {
	before, after := twoStates()
	result, err := diff.States(before, after)
	check(err)
	for _, node := range result.NodesChanged {
		fmt.Println(node.Key, node.From.State, "->", node.To.State)
	}
	fmt.Println(result.NodesAdded)
	for _, output := range result.OutputsAdded {
		fmt.Println(output.Table, string(output.Value))
	}
	// Output:
	// plan::0 pending -> finished
	// [build::0]
	// plans {"steps":3}
}

// Render writes what git smithers diff prints.
func ExampleResult_Render() {
	before, after := twoStates()
	result, err := diff.States(before, after)
	check(err)
	check(result.Render(os.Stdout, diff.RenderOptions{}))
	// Output:
	// Nodes added:
	//   + build::0
	// Nodes changed:
	//   ~ plan::0: pending -> finished
	// Outputs added:
	//   + plans plan::0 {"steps":3}
}

// twoStates returns a state with a task that is pending, and the state after the task has finished.
func twoStates() (before, after *snapshot.State) {
	store := memory{}
	before, err := snapshot.EmptyState().Edit(store, []snapshot.Change{snapshot.SetNode(snapshot.NewNode("plan", snapshot.NodePending))})
	check(err)
	after, err = before.Edit(store, []snapshot.Change{
		snapshot.SetNode(snapshot.NewNode("plan", snapshot.NodeFinished)),
		snapshot.SetNode(snapshot.NewNode("build", snapshot.NodePending)),
		snapshot.SetOutput("plans", "plan", 0, []byte(`{"steps":3}`)),
	})
	check(err)
	return before, after
}

// memory keeps objects in memory. timeline.Store has them in a repository.
type memory map[objstore.ID]object

type object struct {
	kind objstore.Kind
	data []byte
}

func (m memory) Add(kind objstore.Kind, data []byte) objstore.ID {
	id := objstore.SHA1.ID(kind, data)
	m[id] = object{kind, data}
	return id
}

func (m memory) Get(id objstore.ID) (objstore.Kind, []byte, error) {
	o, ok := m[id]
	if !ok {
		return 0, nil, objstore.ErrNotFound
	}
	return o.kind, o.data, nil
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
