package share

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/share/remotes"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/timeline"
)

// RunAt is a run that differs between this repository and a remote.
type RunAt struct {
	RunID  string `json:"runId"`
	State  string `json:"state"`  // AtUnpushed or another of the At… constants
	Ahead  int    `json:"ahead"`  // number of entries that only this repository has
	Behind int    `json:"behind"` // number of entries that only the remote has
}

// States of a run that differs between this repository and a remote.
const (
	AtUnpushed    = "unpushed"
	AtUnfetched   = "unfetched"
	AtDiverged    = "diverged"
	AtUnrelated   = "unrelated"
	AtPrunedHere  = "pruned-here"
	AtPrunedThere = "pruned-there"
)

// RemoteState is the state of a remote at the last contact. Remotes reads it without contacting the remote.
type RemoteState struct {
	Remote string `json:"remote"`
	// Configured means that the configuration has the remote, by name or URL. A remote that is not configured is known
	// from an earlier push or fetch.
	Configured bool    `json:"configured"`
	Current    int     `json:"current"` // number of runs that are equal on both sides
	Runs       []RunAt `json:"runs"`    // the other runs, sorted by id; never nil
}

// Remotes returns the state of each named remote. Without names, it returns the states of push's default remote, if one
// exists, and of all remotes with tracking refs. It reads only local refs. A run that cannot be read is a warning, and
// its remote's state does not count it.
func (s *Sharer) Remotes(ctx context.Context, named ...string) ([]RemoteState, error) {
	places, err := s.places(ctx, named)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	here, err := s.here(ctx)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	states := make([]RemoteState, len(places))
	configured := remotes.Configured(s.store)
	if at, err := remotes.Find(s.store, ""); err == nil {
		configured[at.Component] = at
	}
	for i, at := range places {
		if states[i], err = s.stateAt(ctx, at, here); err != nil {
			return nil, timeline.Explain(err)
		}
		_, states[i].Configured = configured[at.Component]
	}
	return states, nil
}

// here returns the tips and the tombstones of this repository. Broken refs are warnings.
func (s *Sharer) here(ctx context.Context) (atRemote, error) {
	out := newAtRemote()
	tips, err := s.store.Refs().Tips(ctx)
	if err = s.broken(err); err != nil {
		return out, err
	}
	gone, err := s.store.Refs().Gone(ctx)
	if err = s.broken(err); err != nil {
		return out, err
	}
	fill(out.tips, tips)
	fill(out.gone, gone)
	return out, nil
}

// places returns the named remotes. Without names, it returns push's default remote, if one exists, and all
// remotes with tracking refs.
func (s *Sharer) places(ctx context.Context, named []string) ([]remotes.Place, error) {
	var places []remotes.Place
	for _, remote := range named {
		at, err := remotes.Find(s.store, remote)
		if err != nil {
			return nil, err
		}
		places = append(places, at)
	}
	if len(named) > 0 {
		return places, nil
	}
	if at, err := remotes.Find(s.store, ""); err == nil {
		places = append(places, at)
	}
	components, err := s.rememberedPlaces(ctx)
	if err != nil {
		return nil, err
	}
	names := remotes.Configured(s.store)
	for _, component := range components {
		if !slices.ContainsFunc(places, func(p remotes.Place) bool { return p.Component == component }) {
			places = append(places, cmp.Or(names[component], addressBook{s.store}.place(component)))
		}
	}
	return places, nil
}

// rememberedPlaces returns the ref components of all remotes with tracking refs, sorted.
func (s *Sharer) rememberedPlaces(ctx context.Context) ([]string, error) {
	out, err := gitexec.New(s.store.Repo(), s.store.Env()).Run(ctx, "for-each-ref", "--format=%(refname)", refs.RemotesFolder)
	if err != nil {
		return nil, err
	}
	found := make(map[string]bool)
	for name := range strings.Lines(string(out)) {
		component, _, _ := strings.Cut(strings.TrimPrefix(name, refs.RemotesFolder), "/")
		found[component] = true
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// stateAt compares the tracking refs of the remote at with localRefs, the refs of this repository, and returns the
// remote's state. A run that cannot be read or compared is skipped with a warning.
func (s *Sharer) stateAt(ctx context.Context, at remotes.Place, localRefs atRemote) (RemoteState, error) {
	state := RemoteState{Remote: at.Shown(), Runs: []RunAt{}}
	there, err := s.remembered(ctx, at.Component)
	if err != nil {
		return state, err
	}
	all := maps.Clone(localRefs.tips)
	maps.Copy(all, there.tips)
	done := 0
	for component, id := range all {
		s.progress("comparing runs", done, len(all))
		done++
		run, err := s.runID(refs.TipRef{Component: component, ID: id})
		if err != nil {
			s.store.Warn(fmt.Errorf("run %s: %w", component, err))
			continue
		}
		found, err := s.compareAt(ctx, component, localRefs, there)
		if err != nil {
			s.store.Warn(fmt.Errorf("run %s at %s: %w", run, at.Shown(), err))
			continue
		}
		if found.State == "" {
			state.Current++
			continue
		}
		found.RunID = run
		state.Runs = append(state.Runs, found)
	}
	slices.SortFunc(state.Runs, func(a, b RunAt) int { return cmp.Compare(a.RunID, b.RunID) })
	return state, ctx.Err()
}

// compareAt compares a run in this repository with the same run at a remote. component is the run's ref component,
// localRefs has the refs of this repository, and remoteRefs has the tracking refs of the remote. compareAt does
// not set the result's RunID. The first rule that applies gives the state:
//   - AtPrunedHere or AtPrunedThere if one side has pruned the run
//   - AtUnpushed if the run is missing at the remote, or only this repository has new entries
//   - AtUnfetched if the run is missing in this repository, or only the remote has new entries
//   - AtDiverged if both sides have new entries, and AtUnrelated if the histories have no common entry
//
// If both sides are equal, the state is "".
func (s *Sharer) compareAt(ctx context.Context, component string, localRefs, remoteRefs atRemote) (RunAt, error) {
	local, remote := localRefs.tips[component], remoteRefs.tips[component]
	switch {
	case local.IsZero() && !localRefs.gone[component].IsZero():
		return RunAt{State: AtPrunedHere}, nil
	case !local.IsZero() && !remoteRefs.gone[component].IsZero():
		return RunAt{State: AtPrunedThere}, nil
	case remote.IsZero():
		entries, err := s.length(ctx, local)
		return RunAt{State: AtUnpushed, Ahead: entries}, err
	case local.IsZero():
		entries, err := s.length(ctx, remote)
		return RunAt{State: AtUnfetched, Behind: entries}, err
	}
	kin, err := relate(s.store.Objects(), local, remote)
	at := RunAt{Ahead: kin.ahead, Behind: kin.behind}
	switch kin.kinship {
	case same:
	case ahead:
		at.State = AtUnpushed
	case behind:
		at.State = AtUnfetched
	case diverged:
		at.State = AtDiverged
	case unrelated:
		at.State = AtUnrelated
	}
	return at, err
}

// length returns the number of entries of the run with the given tip. With an error, it returns the number of
// entries that it has read.
func (s *Sharer) length(ctx context.Context, tip objstore.ID) (int, error) {
	w, err := walkFrom(s.store.Objects(), tip)
	for err == nil && w.at != nil {
		if err = w.step(); err == nil {
			err = ctx.Err()
		}
	}
	return len(w.seen), err
}
