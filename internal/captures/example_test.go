package captures_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/git-smithers/git-smithers/internal/captures"
	"github.com/git-smithers/git-smithers/timeline"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// Other engines give whole states, or changes, as lines of JSON.
func ExampleCapturer() {
	dir, err := os.MkdirTemp("", "example")
	must(err)
	defer os.RemoveAll(dir)
	must(exec.Command("git", "init", "--quiet", dir).Run())
	ctx := context.Background()
	store, err := timeline.Open(ctx, timeline.Options{Dir: dir, Env: os.Environ(), Now: time.Now})
	must(err)
	defer store.Close()

	run, err := captures.Open(ctx, store, "thread-1")
	must(err)
	for _, line := range []string{
		`{"id":"1","expect":null,"state":{"input":{"topic":"ducks"}}}`,
		`{"id":"2","changes":[{"op":"set","collection":"outputs/jokes","key":"write::0","value":{"joke":"Quack."}}]}`,
		`{"id":"2","changes":[]}`,
	} {
		req, err := captures.ParseCapture([]byte(line))
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
