package share

import (
	"context"
	"errors"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
)

// calledRun is a run that another one has called.
type calledRun struct {
	id, component string
	tip           objstore.ID
}

// called returns the runs that the run with a tip has called, and those that they have called, in the order of the attempts that did. It leaves out runs
// that are not in this repository.
func (s *Sharer) called(ctx context.Context, tip objstore.ID) ([]calledRun, error) {
	var out []calledRun
	seen := make(map[string]bool)
	for next := []objstore.ID{tip}; len(next) > 0; next = next[1:] {
		for _, id := range s.calledBy(next[0]) {
			if seen[id] {
				continue
			}
			seen[id] = true
			c, err := s.local(ctx, id)
			if err != nil {
				return nil, err
			}
			if !c.tip.IsZero() {
				out, next = append(out, c), append(next, c.tip)
			}
		}
	}
	return out, nil
}

// calledBy returns the ids of the runs that the run with a tip has called, each once. It leaves out what cannot be read: whoever looks at the run itself
// finds out why.
func (s *Sharer) calledBy(tip objstore.ID) []string {
	entry, err := snapshot.ReadEntry(s.store.Objects(), tip)
	if err != nil {
		return nil
	}
	out, _ := snapshot.CalledRuns(entry) // the readable ones
	return out
}

// local returns a run of this repository. Its tip is zero if there is none.
func (s *Sharer) local(ctx context.Context, id string) (calledRun, error) {
	name, err := refs.Tip(id)
	if err != nil {
		return calledRun{}, err
	}
	component, err := refs.EscapeRun(id)
	if err != nil {
		return calledRun{}, err
	}
	tip, err := s.store.Refs().Resolve(ctx, name)
	if errors.Is(err, refs.ErrNotFound) {
		err = nil
	}
	return calledRun{id, component, tip}, err
}

// takeCalled fetches the runs that the fetched runs have called, and those that they have called, as far as the remote has them and they are not pruned here.
// known has the ref components of the fetched runs.
func (f *fetch) takeCalled(ctx context.Context, known []string) error {
	var there map[string]bool
	for from := 0; from < len(f.out.Runs); {
		found, err := f.calledOf(ctx, f.out.Runs[from:])
		if err != nil {
			return err
		}
		from = len(f.out.Runs)
		var next []string
		var specs []transportSpec
		for _, component := range found {
			if slices.Contains(known, component) || !f.after.gone[component].IsZero() {
				continue
			}
			known = append(known, component)
			if there == nil {
				if there, err = f.listThere(ctx); err != nil {
					return err
				}
			}
			if spec := f.tip(component); there[spec.From] {
				next, specs = append(next, component), append(specs, spec)
			}
		}
		if len(next) == 0 {
			return nil // all of the rest was looked at
		}
		if err := f.bring(ctx, specs, false); err != nil {
			return err
		}
		if f.after, err = f.remembered(ctx, f.from.Component); err != nil {
			return err
		}
		for _, component := range next {
			if err := f.take(ctx, component); err != nil {
				return err
			}
		}
	}
	return nil
}

// calledOf returns the ref components of the runs that fetched runs have called and that were not pruned here.
func (f *fetch) calledOf(ctx context.Context, fetched []FetchedRun) ([]string, error) {
	var out []string
	for _, of := range fetched {
		caller, err := f.local(ctx, of.RunID)
		if err != nil {
			return nil, err
		}
		if caller.tip.IsZero() {
			continue
		}
		for _, id := range f.calledBy(caller.tip) {
			stone, err := refs.Gone(id)
			if err != nil {
				return nil, err
			}
			_, err = f.store.Refs().Resolve(ctx, stone)
			if err == nil {
				continue
			}
			if !errors.Is(err, refs.ErrNotFound) {
				return nil, err
			}
			component, err := refs.EscapeRun(id)
			if err != nil {
				return nil, err
			}
			out = append(out, component)
		}
	}
	return out, nil
}
