package keep

import (
	"context"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
)

// survey maps the objects that runs reach, outside the user's commits, to the runs that need them.
type survey struct {
	ids    []objstore.ID
	places map[objstore.ID]int32 // index in ids
	names  []string              // the path at which an object was found first
	sizes  []int64
	owner  []int32   // the only run that needs an object, or one of the constants below
	reach  [][]int32 // the objects of each run
}

const (
	ofMany  int32 = -1 // several of the runs need it, and nothing else
	ofOther int32 = -2 // another run needs it, too
	ofUser  int32 = -3 // the user needs it: a commit, a reflog or an index
)

// survey surveys runs; others are refs of other runs. The options are git rev-list's: in a partial clone,
// fetched objects are left out unless evenMissing is given.
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
	k.progress("reading what else there is", 0, 0)
	if err := k.git.walk(ctx, roots, nil, notUsers, mark(ofOther)); err != nil {
		return nil, err
	}
	if err := k.git.walk(ctx, nil, nil, slices.Concat(options, userRoots), mark(ofUser)); err != nil {
		return nil, err
	}
	s.sizes = make([]int64, len(s.ids))
	return s, k.git.sizes(ctx, s.ids, func(id objstore.ID, size int64) { s.sizes[s.places[id]] = size })
}

// found records that a run reaches an object.
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

// run returns what a run reaches, and the part that nothing else needs.
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

// together returns what only the runs need.
func (s *survey) together() (u Usage) {
	for at, owner := range s.owner {
		if owner >= ofMany {
			u.add(s.sizes[at])
		}
	}
	return u
}

func (u *Usage) add(bytes int64) {
	u.Bytes += bytes
	u.Objects++
}
