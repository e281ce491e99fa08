package snapshot_test

import (
	"fmt"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// A state is edited, not changed: the state before stays what it was.
func ExampleState() {
	store := memory{}
	pending := snapshot.EncodeNode(snapshot.Node{NodeID: "analyze", State: snapshot.NodePending, OutputTable: "analysis"})
	before, err := snapshot.EmptyState().Edit(store, []snapshot.Change{
		{Op: snapshot.OpSet, Collection: snapshot.CollectionNodes, Key: pending.Key, Value: pending.Value},
	})
	check(err)
	after, err := before.Edit(store, []snapshot.Change{
		{Op: snapshot.OpSet, Collection: snapshot.CollectionNodes, Key: pending.Key, Value: []byte(`{"state":"finished","lastAttempt":1,"outputTable":"analysis"}`)},
		{Op: snapshot.OpSet, Collection: snapshot.OutputCollection("analysis"), Key: snapshot.Key("analyze", 0), Value: []byte(`{"severity": "high"}`)},
	})
	check(err)
	for _, s := range []*snapshot.State{before, after} {
		dump, err := snapshot.DumpState(s)
		check(err)
		fmt.Println(string(dump))
	}
	// Output:
	// {"nodes":[{"nodeId":"analyze","iteration":0,"label":null,"lastAttempt":null,"needs":[],"outputTable":"analysis","ralphId":null,"state":"pending"}],"outputs":[],"loops":[],"approvals":[],"humanRequests":[],"signals":[],"waits":[]}
	// {"nodes":[{"nodeId":"analyze","iteration":0,"label":null,"lastAttempt":1,"needs":[],"outputTable":"analysis","ralphId":null,"state":"finished"}],"outputs":[{"table":"analysis","nodeId":"analyze","iteration":0,"value":{"severity": "high"}}],"loops":[],"approvals":[],"humanRequests":[],"signals":[],"waits":[]}
}

// A run's first entry is frame 0, and each entry is built on the one before.
func ExampleAppend() {
	store := memory{}
	frames := snapshot.NewFrameCache(512)
	first, err := snapshot.Append(store, frames, nil, snapshot.Draft{
		Frame: &snapshot.FrameDraft{Silent: true}, Subject: "started",
		Run: func(r *snapshot.Run) {
			*r = snapshot.Run{ID: "kmvq", Workflow: "triage", Status: snapshot.RunRunning}
		},
	})
	check(err)
	tip, err := snapshot.Append(store, frames, first, snapshot.Draft{
		Frame: &snapshot.FrameDraft{Silent: true}, Subject: "finished",
		Run:    func(r *snapshot.Run) { r.Status = snapshot.RunFinished },
		Events: []snapshot.Event{{Type: "RunFinished"}},
	})
	check(err)
	read, err := snapshot.ReadEntry(store, tip.ID)
	check(err)
	run, err := read.RunRow()
	check(err)
	fmt.Println(read.Subject, read.Frame, run.Status, read.Parent == first.ID)
	// Output: finished 1 finished true
}

// The rows of a collection come in the order of their keys.
func ExampleState_AllNodes() {
	state, err := snapshot.EmptyState().Edit(memory{}, []snapshot.Change{
		snapshot.SetNode(snapshot.NewNode("write", snapshot.NodePending)),
		snapshot.SetNode(snapshot.NewNode("plan", snapshot.NodeFinished)),
	})
	check(err)
	for node, err := range state.AllNodes() {
		check(err)
		fmt.Println(node.NodeID, node.State)
	}
	// Output:
	// plan finished
	// write pending
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
