package reset_test

import (
	"fmt"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/internal/snapshot/reset"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Resetting a node makes it run again, and everything that needs it.
func ExampleNodes() {
	store := new(objstoretest.Memory)
	var changes []snapshot.Change
	for _, n := range []snapshot.Node{
		{NodeID: "plan", State: snapshot.NodeFinished},
		{NodeID: "build", State: snapshot.NodeFinished, Needs: []string{"plan"}},
		{NodeID: "test", State: snapshot.NodeFailed, Needs: []string{"build"}},
	} {
		row := snapshot.EncodeNode(n)
		changes = append(changes, snapshot.Change{Op: snapshot.OpSet, Collection: snapshot.CollectionNodes, Key: row.Key, Value: row.Value})
	}
	state, err := snapshot.EmptyState().Edit(store, changes)
	check(err)
	resets, err := reset.Nodes(state, []string{"build"}, false)
	check(err)
	for _, c := range resets {
		fmt.Println(c.Op, c.Collection, c.Key)
	}
	// Output:
	// set nodes build::0
	// set nodes test::0
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
