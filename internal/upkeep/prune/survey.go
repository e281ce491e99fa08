package prune

import (
	"context"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
)

// survey lists the objects that the surveyed runs reach and that the user's commits do not reach, with the runs that
// need each object.
type survey struct {
	ids    []objstore.ID
	places map[objstore.ID]int32 // the index of each object in ids, names, sizes and owner
	names  []string              // the path at which an object was found first; "" if it has no path
	sizes  []int64               // on disk, in bytes; 0 if an object is missing
	owner  []int32               // the index of the only run that needs an object, or a constant below
	reach  [][]int32             // for each run, the indexes of the objects that it reaches
}

const (
	ofMany  int32 = -1 // several surveyed runs need the object, and nothing else needs it
	ofOther int32 = -2 // a ref of another run needs the object
	ofUser  int32 = -3 // the user's commits, reflogs or indexes need the object
)

// survey finds the objects that runs reach and that the user's commits do not reach, their sizes, and the runs
// that need each object. others are all other refs of git-smithers. options are added to the git rev-list
// commands. In a partial clone, survey also leaves out the objects that came from a promisor remote, unless
// options include evenMissing.
func (k *Keeper) survey(ctx context.Context, runs []*runRefs, others []refs.Ref, options ...string) (*survey, error) {
	s := &survey{places: make(map[objstore.ID]int32), reach: make([][]int32, len(runs))}
	notUsers := slices.Concat(options, []string{"--not"}, userRefs)
	for i, run := range runs {
		k.progress("reading runs", i, len(runs))
		err := k.git.walk(ctx, run.roots(), nil, notUsers, func(id objstore.ID, path string) { s.found(int32(i), id, path) })
		if err != nil {
			return nil, err
		}
	}
	if len(s.ids) == 0 {
		return s, nil
	}
	mark := func(owner int32) func(objstore.ID, string) {
		return func(id objstore.ID, _ string) {
			if at, ok := s.places[id]; ok {
				s.owner[at] = owner
			}
		}
	}
	roots := make([]objstore.ID, len(others))
	for i, ref := range others {
		roots[i] = ref.ID
	}
	// The mark ofOther comes first, because the mark ofUser must replace it.
	k.progress("reading other runs", 0, 0)
	if err := k.git.walk(ctx, roots, nil, notUsers, mark(ofOther)); err != nil {
		return nil, err
	}
	if err := k.git.walk(ctx, nil, nil, slices.Concat(options, userRoots), mark(ofUser)); err != nil {
		return nil, err
	}
	s.sizes = make([]int64, len(s.ids))
	return s, k.git.sizes(ctx, s.ids, func(id objstore.ID, size int64) { s.sizes[s.places[id]] = size })
}

// found records that a run reaches the object with the given id, at path. run is the run's index in the survey.
// The owner of a new object is this run. If another run has already reached the object, the owner becomes ofMany.
func (s *survey) found(run int32, id objstore.ID, path string) {
	at, known := s.places[id]
	if !known {
		at = int32(len(s.ids))
		s.places[id] = at
		s.ids, s.names, s.owner = append(s.ids, id), append(s.names, path), append(s.owner, run)
	} else if s.owner[at] != run {
		s.owner[at] = ofMany
	}
	s.reach[run] = append(s.reach[run], at)
}

// run returns the usage of the i-th run. total counts the objects that the run reaches and the user does not
// need. alone counts the objects that only this run needs.
func (s *survey) run(i int) (total, alone Usage) {
	for _, at := range s.reach[i] {
		switch s.owner[at] {
		case ofUser:
			continue
		case int32(i):
			alone.add(s.sizes[at])
		}
		total.add(s.sizes[at])
	}
	return total, alone
}

// together returns the usage of the objects that only the surveyed runs need.
func (s *survey) together() (u Usage) {
	for at, owner := range s.owner {
		if owner >= ofMany { // one or several surveyed runs
			u.add(s.sizes[at])
		}
	}
	return u
}

// add adds one object of the given size.
func (u *Usage) add(bytes int64) {
	u.Bytes += bytes
	u.Objects++
}
