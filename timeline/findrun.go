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

// Purpose is the reason why a caller names a run. The Purpose decides whether a prefix of the id is enough.
type Purpose int

const (
	// ToRead is for callers that read the run, or make something new from the run. A unique prefix of the id is
	// enough.
	ToRead Purpose = iota
	// ToChange is for callers that change the run, or the files of a working copy. The whole id is required.
	ToChange
)

// ResolveRun returns the whole id of a run, for a caller that only reads the run. run is the id or a unique prefix
// of the id. Codes: those of FindRun. The id of a pruned run gives run_pruned even if the ids of other runs begin
// with it.
func (s *Store) ResolveRun(ctx context.Context, run string) (string, error) {
	id, _, err := s.FindRun(ctx, run, ToRead)
	return id, err
}

// ResolveRunToChange returns run if a run has exactly this id, for a caller that changes or removes the run.
// Codes: those of FindRun. For a prefix of an id, the code is run_not_found, with a hint that names the runs whose
// ids begin with the prefix.
func (s *Store) ResolveRunToChange(ctx context.Context, run string) (string, error) {
	id, _, err := s.FindRun(ctx, run, ToChange)
	return id, err
}

// FindRun returns the whole id and the tip of a run. run is the run's id or, if purpose is ToRead, a unique prefix of
// the id. Codes: run_not_found; run_ambiguous if several ids begin with run; run_pruned; invalid_run_id if run is
// empty; invalid_address if run is the address of a frame.
func (s *Store) FindRun(ctx context.Context, run string, purpose Purpose) (id string, tip objstore.ID, err error) {
	return runFinder{s.refs}.find(ctx, run, purpose)
}

// FindRunExactly returns the id and the tip of the run with exactly the given id. Codes: run_not_found, also for a
// pruned run; invalid_run_id if run is empty.
func (s *Store) FindRunExactly(ctx context.Context, run string) (string, objstore.ID, error) {
	return runFinder{s.refs}.exactly(ctx, run)
}

// runFinder finds runs by their tip refs, and pruned runs by their tombstones.
type runFinder struct{ refs *refs.DB }

// way is one of the ways to find a run by a name. find returns run_not_found if the next way should be tried.
type way struct {
	find     func(ctx context.Context, name string) (run string, tip objstore.ID, err error)
	byPrefix bool // the name may be a prefix of the run's id
}

// ways returns the ways to find a run by a name, in the order in which they are tried: the run's exact id, then
// the exact id of a pruned run. If purpose is ToRead, the last way is a prefix of the id.
func (f runFinder) ways(purpose Purpose) []way {
	exact := []way{{find: f.exactly}, {find: f.pruned}}
	if purpose == ToChange {
		return exact
	}
	return append(exact, way{f.byPrefix, true})
}

// find returns the whole id and the tip of a run; [Store.FindRun] has the rules and the codes. If lookUp finds no
// run, find returns invalid_address if run is the address of a frame, and otherwise run_not_found with hints.
func (f runFinder) find(ctx context.Context, run string, purpose Purpose) (id string, tip objstore.ID, err error) {
	if run == "" {
		return "", objstore.ID{}, fault.New(fault.InvalidRunID, "the run id is empty").Hint("`git smithers runs` lists the runs")
	}
	if id, tip, err = f.lookUp(ctx, run, purpose); fault.CodeOf(err) == fault.RunNotFound {
		err = cmp.Or(f.refuseFrame(ctx, run), f.unknown(ctx, run, purpose))
	}
	return id, tip, err
}

// lookUp finds a run by name. It tries the ways for purpose in turn, until a way finds the run or fails
// with a code other than run_not_found. Code: run_not_found, without a hint about similar names.
func (f runFinder) lookUp(ctx context.Context, name string, purpose Purpose) (id string, tip objstore.ID, err error) {
	for _, way := range f.ways(purpose) {
		// The code of a nil error is internal, so a run that was found ends the loop, too.
		if id, tip, err = way.find(ctx, name); fault.CodeOf(err) != fault.RunNotFound {
			break
		}
	}
	return id, tip, err
}

// refuseFrame returns invalid_address if address, which a user gave in place of a run, is the address of a frame
// of an existing run. Otherwise refuseFrame returns nil.
func (f runFinder) refuseFrame(ctx context.Context, address string) error {
	readings, err := splitAddress(address)
	if err != nil {
		return nil //nolint:nilerr // address has no valid form
	}
	for _, reading := range readings {
		if id, _, err := f.lookUp(ctx, reading.Run, ToRead); err == nil {
			return fault.New(fault.InvalidAddress, "%q is a frame, but the command needs a run", address).Hint("type the run's id: %s", id)
		}
	}
	return nil
}

// exactly returns the id and the tip of the run with exactly the given id. Codes: run_not_found, also for a pruned
// run; invalid_run_id if run is empty.
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

// RunNotFound returns run_not_found for an id that no run has.
func RunNotFound(run string) *fault.Error {
	err := fault.New(fault.RunNotFound, "no run is called %q", run).Hint("`git smithers runs` lists the runs").Detail("run", run)
	if name, _, ok := strings.Cut(run, ":"); ok && name != "" {
		err = err.Hint("a frame by its id is written with @: %s@ID", name)
	}
	return err
}

// byPrefix returns the id and the tip of the only run whose id begins with prefix. Codes: run_not_found if no id
// begins with prefix; run_ambiguous if several do.
func (f runFinder) byPrefix(ctx context.Context, prefix string) (string, objstore.ID, error) {
	found, tip, err := f.beginning(ctx, prefix)
	switch {
	case err != nil:
		return "", objstore.ID{}, Explain(err)
	case len(found) == 0:
		return "", objstore.ID{}, RunNotFound(prefix)
	case len(found) > 1:
		return "", objstore.ID{}, fault.New(fault.RunAmbiguous, "the ids of %d runs begin with %q", len(found), prefix).
			Hint("type more of the id: %s", listRuns(found)).Detail("runs", found)
	}
	return found[0], tip, nil
}

// beginning returns the ids that begin with prefix, sorted. If exactly one id begins with prefix, tip is the tip
// of that run. beginning leaves out long ids, since the ref of a long id has only a digest of the id. If some refs
// are unreadable, beginning returns the readable ids and an error.
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

// listRuns returns the first five ids, separated by commas, for a hint. An ellipsis stands for further ids.
func listRuns(ids []string) string {
	const shown = 5
	list := strings.Join(ids[:min(shown, len(ids))], ", ")
	if len(ids) > shown {
		list += ", …"
	}
	return list
}

// unknown returns run_not_found for a name that no run has. If the run was pruned and is still held, a hint has the
// command that brings the run back. Otherwise, if purpose is ToChange and the ids of some runs begin with the name, a
// hint names these runs. The hint leaves out broken refs. If the refs cannot be listed, unknown returns that error
// instead.
func (f runFinder) unknown(ctx context.Context, name string, purpose Purpose) error {
	if f.isHeld(ctx, name) {
		return RunNotFound(name).Hint("`git smithers prune --undo %s` brings the pruned run back", fault.Word(name))
	}
	if purpose == ToRead {
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

// HintSimilar returns err, the error about a run that does not exist, with a hint and a detail that list ids. ids
// are existing ids that resemble the name in err.
func HintSimilar(err *fault.Error, ids []string) *fault.Error {
	return err.Hint("type the whole id to change a run: did you mean %s?", listRuns(ids)).Detail("runs", ids)
}
