package timeline_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/git-smithers/git-smithers/diff"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
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
	plan := snapshot.NewNode("plan", snapshot.NodePending)
	plan.OutputTable = "plans"
	head, err := store.Create(ctx, snapshot.Run{ID: "demo", Workflow: "demo", Status: snapshot.RunRunning}, snapshot.Draft{
		Subject: "started",
		Frame:   &snapshot.FrameDraft{State: []snapshot.Change{snapshot.SetNode(plan)}},
	})
	must(err)

	// Frame 1: it finished, with an output.
	plan.State = snapshot.NodeFinished
	must(head.Append(ctx, snapshot.Draft{
		Frame: &snapshot.FrameDraft{State: []snapshot.Change{
			snapshot.SetNode(plan),
			snapshot.SetOutput("plans", "plan", 0, []byte(`{"steps":3}`)),
		}},
		Subject: "plan finished",
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

	// For git, each frame is a commit with a ref.
	subject, err := exec.Command("git", "-C", dir, "log", "-1", "--format=%s", "refs/smithers/demo/1").Output()
	must(err)
	fmt.Print(string(subject))
	// Output:
	// pending -> finished
	// demo 0
	// plan finished
}

// The entries of a series become visible together, when it is committed.
func ExampleSeries() {
	dir, err := os.MkdirTemp("", "example")
	must(err)
	defer os.RemoveAll(dir)
	must(exec.Command("git", "init", "--quiet", dir).Run())
	ctx := context.Background()
	store, err := timeline.Open(ctx, timeline.Options{Dir: dir, Env: os.Environ(), Now: time.Now})
	must(err)
	defer store.Close()

	series, err := timeline.NewSeries(ctx, store, snapshot.Run{ID: "imported", Status: snapshot.RunFinished}, nil)
	must(err)
	defer series.Close()
	for _, task := range []string{"plan", "build"} {
		_, err := series.Append(ctx, snapshot.Draft{
			Frame:   &snapshot.FrameDraft{State: []snapshot.Change{snapshot.SetNode(snapshot.NewNode(task, snapshot.NodeFinished))}},
			Subject: task + " finished",
		})
		must(err)
	}
	_, err = store.Head(ctx, "imported")
	fmt.Println(fault.CodeOf(err))
	head, err := series.Commit(ctx)
	must(err)
	fmt.Println(head.Entry().Frame, head.Entry().Subject)
	// Output:
	// run_not_found
	// 1 build finished
}

// A chain goes from an entry back to the run's first one.
func ExampleStore_Chain() {
	dir, err := os.MkdirTemp("", "example")
	must(err)
	defer os.RemoveAll(dir)
	must(exec.Command("git", "init", "--quiet", dir).Run())
	ctx := context.Background()
	store, err := timeline.Open(ctx, timeline.Options{Dir: dir, Env: os.Environ(), Now: time.Now})
	must(err)
	defer store.Close()
	head, err := store.Create(ctx, snapshot.Run{ID: "demo", Status: snapshot.RunRunning}, snapshot.Draft{
		Subject: "started", Frame: &snapshot.FrameDraft{Silent: true},
	})
	must(err)
	must(head.Append(ctx, snapshot.Draft{Subject: "a note", Events: []snapshot.Event{timeline.NewEvent("Note", 0, map[string]string{"text": "no frame"})}}))
	must(head.Append(ctx, snapshot.Draft{Subject: "went on", Frame: &snapshot.FrameDraft{Silent: true}}))

	for entry, err := range store.Chain(head.Entry()) {
		must(err)
		fmt.Println(entry.Frame, entry.Subject)
	}
	// Output:
	// 1 went on
	// -1 a note
	// 0 started
}
