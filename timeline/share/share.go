// Package share takes runs to other repositories and back: push, fetch, bundles, the state of
// remotes, and the split of a run that was continued in two places.
//
// refs/smithers-remote/<remote>/ tracks the runs of a remote. Only push and fetch write it, and there is
// no queue. Local tips only move forward, except when a run is split: see Fetched.
package share

import (
	"io"

	"github.com/git-smithers/git-smithers/timeline"
)

// Options configure a Sharer.
type Options struct {
	// Talk, if not nil, gets git's own progress, for a terminal.
	Talk io.Writer
	// Progress, if not nil, is called as this package's own work proceeds.
	Progress func(what string, done, total int)
}

// Sharer shares the runs of one store. It must be used by one goroutine at a time.
type Sharer struct {
	store *timeline.Store
	opts  Options
}

// New returns a Sharer. It reads nothing yet.
func New(store *timeline.Store, opts Options) *Sharer {
	return &Sharer{store: store, opts: opts}
}
