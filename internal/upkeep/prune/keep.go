// Package prune maintains the history of a repository: it prunes runs, frees their space, and measures their
// disk usage.
package prune

import (
	"context"

	"github.com/git-smithers/git-smithers/timeline"
)

// Keeper prunes, recalls, collects and measures the runs of one store. Only one goroutine at a time may use a
// Keeper.
type Keeper struct {
	store *timeline.Store
	git   *gitReader
	opts  Options
}

// Options configures a Keeper.
type Options struct {
	// Progress, if not nil, is called as work proceeds. what describes the current step. done of total parts
	// of the step are finished; total is 0 if the number of parts is unknown.
	Progress func(what string, done, total int)
	// Forgets, if not nil, is called with each readable run before the run is pruned.
	Forgets func(ctx context.Context, h *timeline.Head)
}

// New returns a Keeper for store. New does not read the repository.
func New(store *timeline.Store, opts Options) *Keeper {
	return &Keeper{store: store, git: &gitReader{repo: store.Repo(), env: store.Env()}, opts: opts}
}

// progress passes its arguments to Options.Progress. If Options.Progress is nil, progress does nothing.
func (k *Keeper) progress(what string, done, total int) {
	if k.opts.Progress != nil {
		k.opts.Progress(what, done, total)
	}
}
