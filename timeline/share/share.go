// Package share takes runs to other repositories and back: push, fetch, what is where,
// bundles, and what becomes of a run that was continued in two places.
//
// What a remote has is remembered in refs/smithers-remote/<remote>/, which push and fetch
// write and nobody else does; there is no queue. Tips here only go forward, but for one
// case: see Fetched.
package share

import (
	"io"

	"github.com/git-smithers/git-smithers/timeline"
)

// Options say what sharing may use of the world.
type Options struct {
	// Talk, unless it is nil, gets git's own progress, for a terminal.
	Talk io.Writer
	// Progress, unless it is nil, is told how far what this package does itself has got.
	Progress func(what string, done, total int)
}

// Sharer shares the runs of one store. For one goroutine at a time.
type Sharer struct {
	store *timeline.Store
	parts timeline.Parts
	opts  Options
}

// New makes a Sharer. It does nothing yet.
func New(store *timeline.Store, opts Options) *Sharer {
	return &Sharer{store: store, parts: store.Parts(), opts: opts}
}
