package files_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// An engine that changes files appends by the working copy: the frame then has the files, too.
func ExampleWorkingCopy_Append() {
	dir, err := os.MkdirTemp("", "example")
	check(err)
	defer os.RemoveAll(dir)
	check(exec.Command("git", "init", "--quiet", dir).Run())
	ctx := context.Background()
	store, err := timeline.Open(ctx, timeline.Options{Dir: dir, Env: os.Environ(), Now: time.Now})
	check(err)
	defer store.Close()

	working := files.WorkingCopyOf(store)
	task := snapshot.NewNode("code", snapshot.NodePending)
	head, err := working.Create(ctx, snapshot.Run{ID: "demo", Status: snapshot.RunRunning}, snapshot.Draft{
		Subject: "started", Frame: &snapshot.FrameDraft{State: []snapshot.Change{snapshot.SetNode(task)}},
	})
	check(err)

	check(os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n"), 0o600))
	task.State = snapshot.NodeFinished
	check(working.Append(ctx, head, snapshot.Draft{
		Frame:   &snapshot.FrameDraft{State: []snapshot.Change{snapshot.SetNode(task)}},
		Subject: "code finished",
	}))

	changed, err := list.FramesOf(ctx, store, list.FrameQuery{Path: "main.go"})
	check(err)
	fmt.Println(changed[0].RunID, changed[0].FrameNo, changed[0].Paths[0].Op)
	fmt.Println(head.Row().CreatedAtMs > 0)
	// Output:
	// demo 1 add
	// true
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
