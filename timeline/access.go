package timeline

import (
	"time"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/owner"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
)

// The accessors below return the parts of a store, for packages that use the store. The parts stay valid until the
// store is closed.

// Repo returns the repository's folders and configuration.
func (s *Store) Repo() gitexec.Repo { return s.repo }

// Workspace returns the working copy in which the store was opened. If the store was opened outside of any working
// copy, the Root of the result is "".
func (s *Store) Workspace() *jjbridge.Workspace { return s.workspace }

// Env returns the environment with which git is run. The caller must not change it.
func (s *Store) Env() []string { return s.env }

// Objects returns the repository's objects.
func (s *Store) Objects() *objstore.Store { return s.objects }

// Refs returns the repository's refs.
func (s *Store) Refs() *refs.DB { return s.refs }

// Now returns the current time of the clock that dates entries.
func (s *Store) Now() time.Time { return s.now() }

// Warn passes an error that does not harm stored history to Options.Warn.
func (s *Store) Warn(err error) { s.warn(err) }

// WarnOnce passes an error to Options.Warn, as Warn does, but only if no earlier error had the same text. Without
// WarnOnce, successive captures would warn about the same files again.
func (s *Store) WarnOnce(err error) {
	if _, told := s.told.LoadOrStore(err.Error(), true); !told {
		s.warn(err)
	}
}

// Settings returns the configuration that the store obeys.
func (s *Store) Settings() Settings { return s.settings }

// Store returns the store that h belongs to.
func (h *Head) Store() *Store { return h.store }

// FrameCache returns the cache through which the store reconstructs rendered trees. It keeps the most recently used
// trees.
func (s *Store) FrameCache() *snapshot.FrameCache { return s.frames }

// Executed returns the runs that are executed in this repository on this machine.
func (s *Store) Executed() owner.Runs { return owner.In(s.Private()) }

// Owner returns the owner that a run's row names. Owner.Live reports whether the owner's process is alive on this
// machine.
func (s *Store) Owner(row snapshot.Run) owner.Owner {
	return s.Executed().Of(row, s.now(), s.settings.StaleAfter)
}

// RefuseOwned returns run_owned if a live process owns the run with the given row, and otherwise nil.
func (s *Store) RefuseOwned(row snapshot.Run) error {
	if owner := s.Owner(row); owner.Live {
		return owner.Refusal(row)
	}
	return nil
}

// RefuseElsewhere returns run_owned if a process in another clone may be executing the run: see [owner.Owner.RefuseElsewhere].
func (h *Head) RefuseElsewhere() error {
	if h.entry == nil {
		return nil
	}
	return h.store.Owner(h.row).RefuseElsewhere(h.row, time.UnixMilli(h.entry.AtMs), h.store.now())
}

// RefuseExecuted returns run_owned if a live process owns the run or, unless force is true, a process in another clone may be executing it.
func (h *Head) RefuseExecuted(force bool) error {
	if err := h.store.RefuseOwned(h.row); err != nil || force {
		return err
	}
	return h.RefuseElsewhere()
}
