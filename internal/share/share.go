// Package share pushes runs to other repositories and fetches runs from them. It also writes and reads bundles,
// reports the state of remotes, and splits a run that was continued in two places.
//
// refs/smithers-remote/<remote>/ has the tracking refs of a remote. A push, a fetch, and the prune of a run at a remote
// update these refs. Local tips only move forward, except when a run is split: see [Sharer.Fetch].
package share

import (
	"context"
	"io"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Options configures a [Sharer].
type Options struct {
	// Talk, if not nil, receives git's own progress, for a terminal.
	Talk io.Writer
	// Progress, if not nil, is called while this package itself works. what names the work. done and total count the
	// steps of the work; total is 0 if the number of steps is unknown.
	Progress func(what string, done, total int)
	// Join, if not nil, puts the local entries of a diverged run onto the remote's, and returns the run's new tip. It
	// returns nil if the run is not of a kind whose entries can be joined; the run is then split. If the local tip has
	// moved, the code of its error is conflict, and Fetch compares the run again.
	Join func(context.Context, Diverged) (*snapshot.Entry, error)
	// KeepsID, if not nil, reports whether another program finds the run with this tip by its id. Such a run keeps an id that is
	// timeline.Mistakable.
	KeepsID func(tip *snapshot.Entry) bool
}

// Sharer shares the runs of one store. Only one goroutine at a time may use a Sharer.
type Sharer struct {
	store *timeline.Store
	opts  Options
}

// New returns a Sharer. It reads nothing.
func New(store *timeline.Store, opts Options) *Sharer {
	return &Sharer{store: store, opts: opts}
}
