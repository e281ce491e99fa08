// Package keep maintains the history of a repository: it prunes runs, frees their space, and measures their
// disk usage.
package keep

import (
	"github.com/git-smithers/git-smithers/timeline"
)

// Keeper maintains the history of one store. It must be used by one goroutine at a time.
type Keeper struct {
	store *timeline.Store
	git   *gitReader
	opts  Options
}

// Options configure a Keeper.
type Options struct {
	// Progress, if not nil, is called as work proceeds.
	Progress func(what string, done, total int)
}

// New returns a Keeper. It reads nothing yet.
func New(store *timeline.Store, opts Options) *Keeper {
	return &Keeper{store: store, git: &gitReader{repo: store.Repo(), env: store.Env()}, opts: opts}
}

func (k *Keeper) progress(what string, done, total int) {
	if k.opts.Progress != nil {
		k.opts.Progress(what, done, total)
	}
}
