package timeline

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Purpose is the reason why a caller names a run. It decides whether a prefix of the id is enough.
type Purpose int

const (
	// ToRead is for callers that read the run, or make something new from it: a unique prefix of the id is enough.
	ToRead Purpose = iota
	// ToChange is for callers that change the run, or the files of a working copy: the whole id is required.
	ToChange
)

// ResolveRun returns the id of the run that run names, for a caller that only reads the run: run is an id or a
// unique prefix of an id. The id of a pruned run is run_pruned, even if it is also a prefix of another run's id.
func (s *Store) ResolveRun(ctx context.Context, run string) (string, error) {
	id, _, err := s.FindRun(ctx, run, ToRead)
	return id, err
}

// ResolveRunToChange returns run if it is the id of a run, for a caller that changes or removes the run. A prefix
// of an id is run_not_found, and the hint names the runs that begin with it.
func (s *Store) ResolveRunToChange(ctx context.Context, run string) (string, error) {
	id, _, err := s.FindRun(ctx, run, ToChange)
	return id, err
}

// FindRun returns the whole id and the tip of a run. The run is given by its id or, for ToRead, by a unique prefix.
func (s *Store) FindRun(ctx context.Context, run string, to Purpose) (id string, tip objstore.ID, err error) {
	return runFinder{s.refs}.find(ctx, run, to)
}

// FindRunExactly returns the id and the tip of the run with exactly the given id. Code: run_not_found.
func (s *Store) FindRunExactly(ctx context.Context, run string) (string, objstore.ID, error) {
	return runFinder{s.refs}.exactly(ctx, run)
}

// runFinder finds runs by their tip refs, and pruned runs by their tombstones.
type runFinder struct{ refs *refs.DB }

// finder finds a run and its tip by a name. It returns run_not_found if the next finder should try.
type finder func(ctx context.Context, name string) (run string, tip objstore.ID, err error)

// ways returns the finders for a purpose, in the order in which to try them.
func (f runFinder) ways(to Purpose) []finder {
	exact := []finder{f.exactly, f.pruned}
	if to == ToChange {
		return exact
	}
	return append(exact, f.byPrefix)
}

// find is FindRun. If the name is a frame's address, the error is invalid_address.
func (f runFinder) find(ctx context.Context, run string, to Purpose) (id string, tip objstore.ID, err error) {
	if run == "" {
		return "", objstore.ID{}, fault.New(fault.InvalidRunID, "the run id is empty")
	}
	for _, try := range f.ways(to) {
		id, tip, err := try(ctx, run)
		if fault.CodeOf(err) != fault.RunNotFound {
			return id, tip, err
		}
	}
	return "", objstore.ID{}, cmp.Or(f.refuseFrame(ctx, run), f.unknown(ctx, run, to))
}

// refuseFrame returns invalid_address if a caller that wants a run was given the address of a frame. Otherwise it
// returns nil.
func (f runFinder) refuseFrame(ctx context.Context, address string) error {
	at, hasFrame, err := splitAddress(address)
	if err != nil || !hasFrame {
		return nil //nolint:nilerr // it is not an address
	}
	id, _, err := f.find(ctx, at.Run, ToRead)
	if err != nil {
		return nil //nolint:nilerr // the part before the colon is not a run
	}
	return fault.New(fault.InvalidAddress, "%q is a frame, but the command takes a run", address).Hint("name the run: %s", id)
}

// exactly is the finder of a run by its whole id.
func (f runFinder) exactly(ctx context.Context, run string) (string, objstore.ID, error) {
	name, err := refs.Tip(run)
	if err != nil {
		return "", objstore.ID{}, Explain(err)
	}
	tip, err := f.refs.Resolve(ctx, name)
	if errors.Is(err, refs.ErrNotFound) {
		return "", objstore.ID{}, RunNotFound(run)
	}
	return run, tip, Explain(err)
}

// RunNotFound returns the error for an id that no run has.
func RunNotFound(run string) *fault.Error {
	return fault.New(fault.RunNotFound, "no run is called %q", run).
		Hint("`git smithers runs` lists the runs").Detail("run", run)
}

// byPrefix is the finder of a run by a unique prefix of its id. Code: run_ambiguous if several runs have the prefix.
func (f runFinder) byPrefix(ctx context.Context, prefix string) (string, objstore.ID, error) {
	found, tip, err := f.beginning(ctx, prefix)
	switch {
	case err != nil:
		return "", objstore.ID{}, Explain(err)
	case len(found) == 0:
		return "", objstore.ID{}, RunNotFound(prefix)
	case len(found) > 1:
		return "", objstore.ID{}, fault.New(fault.RunAmbiguous, "%d runs begin with %q", len(found), prefix).
			Hint("they are %s", listRuns(found)).Detail("runs", found)
	}
	return found[0], tip, nil
}

// beginning lists the runs whose ids begin with prefix, sorted. tip is the tip of the run if there is exactly one.
func (f runFinder) beginning(ctx context.Context, prefix string) (found []string, tip objstore.ID, err error) {
	tips, err := f.refs.Tips(ctx)
	for _, t := range tips {
		run, ok, err := refs.UnescapeRun(t.Component)
		if err == nil && ok && strings.HasPrefix(run, prefix) {
			found, tip = append(found, run), t.ID
		}
	}
	slices.Sort(found)
	return found, tip, err
}

// listRuns joins ids for a hint, and cuts a long list.
func listRuns(ids []string) string {
	const shown = 5
	list := strings.Join(ids[:min(shown, len(ids))], ", ")
	if len(ids) > shown {
		list += ", …"
	}
	return list
}

// unknown returns run_not_found for a name that no run has. A hint says that the run was pruned or, to a caller that
// changes runs, names the runs that begin with the name.
func (f runFinder) unknown(ctx context.Context, name string, to Purpose) error {
	if f.isHeld(ctx, name) {
		return RunNotFound(name).Hint("it was pruned: `git smithers prune --undo %s` brings it back", fault.Word(name))
	}
	if to == ToRead {
		return RunNotFound(name)
	}
	found, _, err := f.beginning(ctx, name)
	if _, err := BrokenRefs(err); err != nil {
		return Explain(err)
	}
	if len(found) == 0 {
		return RunNotFound(name)
	}
	return HintSimilar(fault.New(fault.RunNotFound, "no run is called %q", name).Detail("run", name), found)
}

// HintSimilar adds ids that resemble the given name to an error about an unknown run.
func HintSimilar(err *fault.Error, ids []string) *fault.Error {
	return err.Hint("did you mean %s? A command that changes a run takes its whole id", listRuns(ids)).Detail("runs", ids)
}
