package timeline

import (
	"context"
	"iter"
	"time"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Parts are what a store is made of, for the packages below this one's folder, which are
// more of its use cases. They stay the store's, and end with it.
type Parts struct {
	Repo    gitexec.Repo
	Env     []string // the environment git runs under
	Refs    *refs.DB
	Objects *objstore.Store
	Now     func() time.Time
	Warn    func(error)

	PushFiles       string // PushAsk, PushYes or PushNo
	FrameRefs       int64  // how many frame refs this clone keeps
	RemoteFrameRefs int64  // how many frame refs a remote is given
	Private         string // the store's private folder
	Here            DoneHere

	Limits snapshot.Limits // of what is taken in
}

// Parts are the store's.
func (s *Store) Parts() Parts {
	return Parts{
		Repo: s.repo, Env: s.env, Refs: s.refs, Objects: s.objects, Now: s.now, Warn: s.warn,
		PushFiles: s.settings.PushFiles, FrameRefs: s.settings.FrameRefs, RemoteFrameRefs: s.settings.RemoteFrameRefs,
		Private: s.Private(), Here: s.Here(), Limits: s.settings.Limits,
	}
}

// Commit writes a batch and moves the refs that make it reachable, in their order: a
// crash leaves a prefix of them. Codes: conflict where a ref is not where it is expected.
func (s *Store) Commit(ctx context.Context, batch *objstore.Batch, updates []refs.Update) error {
	return s.commit(ctx, batch, updates)
}

// CheckNew is invalid_run_id or run_pruned where no run of an id can be made.
func (s *Store) CheckNew(ctx context.Context, id string) error {
	if _, err := newTip(id); err != nil {
		return err
	}
	return s.refusePruned(ctx, id)
}

// Chain yields the entries of a run, newest first, from one of them to the run's first.
func (s *Store) Chain(entry *snapshot.Entry) iter.Seq2[*snapshot.Entry, error] { return s.chain(entry) }

// RefuseOwned is run_owned where a live process owns the run.
func (s *Store) RefuseOwned(row snapshot.Run) error { return s.refuseOwned(row) }

// The parts of a store, for the rooms that are built on it. All of them end with the store.

// Repo returns the repository's folders and configuration.
func (s *Store) Repo() gitexec.Repo { return s.repo }

// Workspace returns the working copy that the store was opened in.
func (s *Store) Workspace() *jjbridge.Workspace { return s.workspace }

// Env returns the environment that git runs under. The caller must not change it.
func (s *Store) Env() []string { return s.env }

// Objects returns the repository's objects.
func (s *Store) Objects() *objstore.Store { return s.objects }

// Refs returns the repository's refs.
func (s *Store) Refs() *refs.DB { return s.refs }

// Now returns the time by the clock that dates entries.
func (s *Store) Now() time.Time { return s.now() }

// Warn reports what went wrong without harm to stored history.
func (s *Store) Warn(err error) { s.warn(err) }

// Settings returns the configuration that the store obeys.
func (s *Store) Settings() Settings { return s.settings }

// Store returns the store that h belongs to.
func (h *Head) Store() *Store { return h.store }

// FrameCache returns the rendered frames that were reconstructed last.
func (s *Store) FrameCache() *snapshot.FrameCache { return s.frames }
