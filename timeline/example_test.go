package timeline_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/git-smithers/git-smithers/diff"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// An engine that embeds git-smithers opens a repository, captures a frame after
// each change of its state, loads and compares frames, and forks.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	must(err)
	defer os.RemoveAll(dir)
	must(exec.Command("git", "init", "--quiet", dir).Run())

	ctx := context.Background()
	store, err := timeline.Open(ctx, timeline.Options{Dir: dir, Env: os.Environ(), Now: time.Now})
	must(err)

	// Frame 0: one node, pending.
	plan := snapshot.Node{NodeID: "plan", State: snapshot.NodePending, OutputTable: "plans"}
	head, err := store.Create(ctx, snapshot.Run{ID: "demo", Workflow: "demo", Status: snapshot.RunRunning}, snapshot.Draft{
		Subject: "started",
		State:   []snapshot.Change{set(snapshot.CollectionNodes, snapshot.EncodeNode(plan).Key, snapshot.EncodeNode(plan).Value)},
	})
	must(err)

	// Frame 1: it finished, with an output.
	plan.State = snapshot.NodeFinished
	must(head.Append(ctx, snapshot.Draft{
		Frame:   true,
		Subject: "plan finished",
		State: []snapshot.Change{
			set(snapshot.CollectionNodes, snapshot.EncodeNode(plan).Key, snapshot.EncodeNode(plan).Value),
			set(snapshot.OutputCollection("plans"), snapshot.Key("plan", 0), []byte(`{"steps":3}`)),
		},
	}))

	// What changed between the two?
	before, err := store.Load(ctx, "demo:0")
	must(err)
	from, err := before.Entry.State()
	must(err)
	changed, err := diff.States(from, head.State())
	must(err)
	fmt.Println(changed.NodesChanged[0].From.State, "->", changed.NodesChanged[0].To.State)

	// Try again from the start, under another name.
	child, err := store.Fork(ctx, timeline.ForkRequest{From: "demo:0", RunID: "second-try"})
	must(err)
	fmt.Println(child.Row().Parent.RunID, child.Row().Parent.Frame)
	must(store.Close())

	_, err = os.Stat(filepath.Join(dir, ".git", "refs", "smithers", "demo", "1"))
	fmt.Println(err)
	// Output:
	// pending -> finished
	// demo 0
	// <nil>
}

func set(collection, key string, value json.RawMessage) snapshot.Change {
	return snapshot.Change{Op: snapshot.OpSet, Collection: collection, Key: key, Value: value}
}

// Other engines give whole states, or changes, as lines of JSON.
func ExampleStore_Capturer() {
	dir, err := os.MkdirTemp("", "example")
	must(err)
	defer os.RemoveAll(dir)
	must(exec.Command("git", "init", "--quiet", dir).Run())
	ctx := context.Background()
	store, err := timeline.Open(ctx, timeline.Options{Dir: dir, Env: os.Environ(), Now: time.Now})
	must(err)
	defer store.Close()

	run, err := store.Capturer(ctx, "thread-1")
	must(err)
	for _, line := range []string{
		`{"id":"1","expect":null,"state":{"input":{"topic":"ducks"}}}`,
		`{"id":"2","changes":[{"op":"set","collection":"outputs/jokes","key":"write::0","value":{"joke":"Quack."}}]}`,
		`{"id":"2","changes":[]}`,
	} {
		req, err := timeline.ParseCapture([]byte(line))
		must(err)
		answer, err := run.Capture(ctx, req)
		must(err)
		fmt.Println(answer.ID, *answer.Frame)
	}
	// Output:
	// 1 0
	// 2 1
	// 2 1
}
