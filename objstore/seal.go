package objstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	// sealShare is how many objects for each commit that is to be sealed what a seal that
	// spares takes may weigh: most of a heavier pack is others', or files of which no delta
	// is made.
	sealShare = 64
	// sealGrowth is how many times as heavy as those before it together a pack may be and
	// still be taken: so what is sealed again and again, because a little was added to
	// it, is not written anew every time.
	sealGrowth = 32
	// sealFew is the number of packs below which one that spares does nothing: writing them
	// anew would be most of what a short run takes, and the next merge does it for many.
	sealFew = 8
)

// Seal merges the packs of this program that have any of the commits into one pack,
// in which each object is stored once and older versions are deltas of newer ones. It skips the same
// packs as [Store.Merge], is as safe, and does nothing while another process merges.
//
// With spare, it also skips packs that mostly belong to others, packs that are large
// beside the rest, and a small number of packs: then it rewrites little more than the commits' own objects.
func (s *Store) Seal(ctx context.Context, commits []ID, spare bool) (MergeResult, error) {
	result, err := s.merge(ctx, func(now time.Time, _ int) ([]mergePack, int, error) { return s.chooseSeal(ctx, now, commits, spare) }, 1)
	if err != nil {
		return MergeResult{}, fmt.Errorf("seal packs: %w", err)
	}
	return result, nil
}

// chooseSeal returns the packs to make one of, and how many were looked into. One alone is
// sealed already, unless it is of many entries and has no deltas, as one batch writes it.
func (s *Store) chooseSeal(ctx context.Context, now time.Time, commits []ID, spare bool) (chosen []mergePack, all int, err error) {
	packs, err := s.mergeable()
	if err != nil {
		return nil, 0, err
	}
	packs = unnamed(withoutYoung(packs, now))
	slices.SortStableFunc(packs, func(a, b mergePack) int { return cmp.Compare(a.weight(), b.weight()) })
	var taken, found int64
	for _, p := range packs {
		if err := stopped(ctx, "choose packs"); err != nil {
			return nil, 0, err
		}
		if spare && (p.weight() > sealShare*int64(len(commits)) || taken > 0 && p.weight() > sealGrowth*taken) {
			break
		}
		if !s.isOurs(p.name) {
			continue
		}
		held, err := s.holds(p.name, commits)
		if vanished(err) {
			continue // git gc took it
		}
		if err != nil {
			return nil, 0, err
		}
		if held == 0 || spare && taken+p.weight() > sealShare*(found+held) {
			continue
		}
		chosen = append(chosen, p)
		taken += p.weight()
		found += held
	}
	switch {
	case spare && len(chosen) < sealFew:
		return nil, len(packs), nil
	case len(chosen) != 1:
		return chosen, len(packs), nil
	}
	plain, err := s.isPlain(chosen[0].name)
	if vanished(err) {
		return nil, len(packs), nil
	}
	if !plain || found < 2 {
		chosen = nil
	}
	return chosen, len(packs), err
}

// isPlain reports whether a pack has no deltas.
func (s *Store) isPlain(name string) (plain bool, err error) {
	p := s.openAside(name)
	defer func() { err = errors.Join(err, p.close()) }()
	f, end, err := p.open()
	if err != nil {
		return false, err
	}
	idx, err := p.index()
	if err != nil {
		return false, err
	}
	entries, err := idx.all()
	if err != nil {
		return false, p.corrupt(ID{}, p.idxPath, err.Error())
	}
	c := p.cursors.get(f, end)
	defer p.cursors.put(c)
	for _, e := range entries {
		head, err := c.entryHead(e.offset)
		if err != nil {
			return false, p.corrupt(e.id, p.packPath, err.Error())
		}
		if head.isDelta() {
			return false, nil
		}
	}
	return true, nil
}

// holds counts the commits that a pack has.
func (s *Store) holds(name string, commits []ID) (held int64, err error) {
	p := s.openAside(name)
	defer func() { err = errors.Join(err, p.close()) }()
	for _, id := range commits {
		_, found, err := p.find(id)
		if err != nil {
			return held, err
		}
		if found {
			held++
		}
	}
	return held, nil
}
