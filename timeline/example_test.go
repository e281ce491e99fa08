package timeline_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/git-smithers/git-smithers/diff"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/list"
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

	_, err = os.Stat(filepath.Join(dir, ".git", "refs", "smithers", "demo", "1"))
	fmt.Println(err)
	// Output:
	// pending -> finished
	// demo 0
	// <nil>
}

// An engine that changes files appends by the working copy: the frame then has the files, too.
func ExampleWorkingCopy_Append() {
	dir, err := os.MkdirTemp("", "example")
	must(err)
	defer os.RemoveAll(dir)
	must(exec.Command("git", "init", "--quiet", dir).Run())
	ctx := context.Background()
	store, err := timeline.Open(ctx, timeline.Options{Dir: dir, Env: os.Environ(), Now: time.Now})
	must(err)
	defer store.Close()

	files := files.WorkingCopyOf(store)
	task := snapshot.NewNode("code", snapshot.NodePending)
	head, err := files.Create(ctx, snapshot.Run{ID: "demo", Status: snapshot.RunRunning}, snapshot.Draft{
		Subject: "started", Frame: &snapshot.FrameDraft{State: []snapshot.Change{snapshot.SetNode(task)}},
	})
	must(err)

	must(os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n"), 0o600))
	task.State = snapshot.NodeFinished
	must(files.Append(ctx, head, snapshot.Draft{
		Frame:   &snapshot.FrameDraft{State: []snapshot.Change{snapshot.SetNode(task)}},
		Subject: "code finished",
	}))

	changed, err := list.FramesOf(ctx, store, list.FrameQuery{Path: "main.go"})
	must(err)
	fmt.Println(changed[0].RunID, changed[0].FrameNo, changed[0].Paths[0].Op)
	fmt.Println(head.Row().CreatedAtMs > 0)
	// Output:
	// demo 1 add
	// true
}
