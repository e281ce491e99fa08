// Package keep looks after the history of a repository: what is to be kept of it, what
// takes its space, and what is broken and how to mend it.
package keep

import "github.com/git-smithers/git-smithers/timeline"

// Keeper looks after the history of one store. For one goroutine at a time.
type Keeper struct {
	store *timeline.Store
	parts timeline.Parts
	opts  Options
}

// Options say what a Keeper may use of the world.
type Options struct {
	// Progress, unless it is nil, is told how far something is.
	Progress func(what string, done, total int)
}

// New makes a Keeper. It does nothing yet.
func New(store *timeline.Store, opts Options) *Keeper {
	return &Keeper{store: store, parts: store.Parts(), opts: opts}
}
