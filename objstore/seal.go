package objstore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"
)

const (
	// sealShare is the largest weight, for each commit, of the packs that a sparing seal merges. A heavier pack
	// has mostly objects of other runs, or files that do not become deltas.
	sealShare = 64
	// sealGrowth limits the weight of a pack that a sparing seal merges: the pack may be at most sealGrowth
	// times as heavy as the packs chosen before it together. So a run that is sealed again after a small
	// addition is not rewritten completely.
	sealGrowth = 32
	// sealFew is the number of packs below which a sparing seal does nothing. For a short run, the seal would
	// take most of the time, and the next merge does the same work for many packs at once.
	sealFew = 8
)

// chooseSeal returns the packs that a seal merges into one pack, and the number of packs that it considered.
// Each chosen pack was made by this program, has at least one of the commits, is not young at the time now, and
// is in no multi-pack-index. If only one pack has these properties, it is chosen only if it has at least two of
// the commits and no deltas, as a batch writes it.
//
// If spare is true, the seal must be cheap: chooseSeal leaves out packs that are too heavy by sealShare and
// sealGrowth, and chooses no packs if fewer than sealFew are left.
func (c mergeChooser) chooseSeal(ctx context.Context, now time.Time, commits []ID, spare bool) (chosen []mergePack, all int, err error) {
	packs, err := c.mergeable()
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
			break // all other packs are at least as heavy
		}
		if !c.owners.isOurs(p.name) {
			continue
		}
		held, err := countIn(c.owners.dir.openAside(p.name), commits)
		if vanished(err) {
			continue // git gc has removed the pack
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
	plain, err := isPlain(c.owners.dir.openAside(chosen[0].name))
	if vanished(err) {
		return nil, len(packs), nil
	}
	if !plain || found < 2 {
		chosen = nil
	}
	return chosen, len(packs), err
}

// isPlain reports whether no entry of the pack p is a delta. It closes p.
func isPlain(p *pack) (plain bool, err error) {
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

// countIn returns the number of ids in commits that the pack p has. It closes p.
func countIn(p *pack, commits []ID) (held int64, err error) {
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
