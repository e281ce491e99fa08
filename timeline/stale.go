package timeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/git-smithers/git-smithers/refs"
)

// Stale are those of the runs (exact ids) that no live process owns, as Owner tells it.
// It reads the tips of those alone that a live process claimed on this machine. One that
// cannot be read is left out, with a warning.
func (s *Store) Stale(ctx context.Context, runs ...string) (map[string]bool, error) {
	entries, err := os.ReadDir(s.claimsPath())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, Explain(err)
	}
	claimed := make(map[string]bool, len(entries))
	for _, entry := range entries {
		claimed[entry.Name()] = true
	}
	stale := make(map[string]bool)
	for _, run := range runs {
		component, err := refs.EscapeRun(run)
		if err != nil {
			return nil, Explain(err)
		}
		if !claimed[component] {
			stale[run] = true
			continue
		}
		live, err := s.owned(ctx, run)
		if ctx.Err() != nil {
			return nil, Explain(ctx.Err())
		}
		if err != nil {
			s.warn(fmt.Errorf("who owns run %q: %w", run, err))
			continue
		}
		stale[run] = !live
	}
	return stale, nil
}

// owned tells whether a live process owns a run that was claimed here.
func (s *Store) owned(ctx context.Context, run string) (bool, error) {
	folder, err := s.claimFolder(run)
	if err != nil {
		return false, Explain(err)
	}
	alive, err := folder.alive()
	if err != nil || !alive {
		return false, Explain(err)
	}
	_, tip, err := s.findRunExactly(ctx, run)
	if err != nil {
		return false, err
	}
	row, err := s.tipRow(tip)
	return err == nil && s.Owner(row).Live, err
}

// alive tells whether some process that made a claim in the folder is there yet, owner or not.
func (d claimFolder) alive() (bool, error) {
	entries, err := os.ReadDir(d.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	for _, entry := range entries {
		if seen, err := d.look(entry.Name()); err == nil && seen.locked {
			return true, nil
		}
	}
	return false, nil
}
