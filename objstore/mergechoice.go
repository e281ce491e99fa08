package objstore

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

const (
	// mergeFresh is the number of packs from which the lowest tier is merged. Its packs are mostly
	// single captures. mergeFull is the number of packs from which every other tier is merged.
	mergeFresh = 16
	mergeFull  = 4
	// freshObjects is the weight below which a pack is in the lowest tier. The limit of each further
	// tier is tierFactor times higher. So there are at most 15 + 4·3 packs below the size at which
	// merging ends, and a byte is rewritten about twice in each tier.
	freshObjects = 128
	tierFactor   = 8
	// mergeMost is the number of all mergeable packs above which a merge also takes packs that a
	// multi-pack-index names. It is above the usual number of packs outside a multi-pack-index.
	mergeMost = 32
	// mergeOnce is the largest number of packs in one lot. A lot is merged at once; the other packs
	// follow lot by lot, because a long merge never ends beside a git that keeps removing packs. If
	// there are very many packs, a lot is a mergeShare-th of them, because each lot lists all packs.
	mergeOnce  = 64
	mergeShare = 4
	// objectBytes is the packed size in bytes that counts as one object. So a pack of a few large
	// objects is in the tier that fits the cost of copying the pack.
	objectBytes = 512
)

// mergeChooser chooses the packs that a merge turns into one pack.
type mergeChooser struct {
	files    packFiles
	owners   *packOwners
	maxBytes int64 // packs of at least this size are left alone
}

// mergeChoice returns the packs to merge into one pack, or nil. all is the number of mergeable
// packs. The packs must not be young at the time now. If there are very many packs, chosen has
// about a share-th of them.
type mergeChoice func(now time.Time, share int) (chosen []mergePack, all int, err error)

// choose returns the packs to merge into one pack, or nil if fewer than two packs are to be merged. They are
// full tiers of packs of similar weight, and none is young at the time now. choose leaves out packs of other
// programs. chosen has at most mergeOnce packs or a share-th of the mergeable packs, whichever is more. all is
// the number of mergeable packs.
func (c mergeChooser) choose(now time.Time, share int) (chosen []mergePack, all int, err error) {
	packs, err := c.mergeable()
	if err != nil {
		return nil, 0, err
	}
	packs = withoutYoung(packs, now)
	ours, lot := make(map[string]bool), max(mergeOnce, len(packs)/share)
	for {
		chosen = oneLot(planAll(packs), lot)
		if len(chosen) < 2 {
			return nil, len(packs), nil
		}
		// Only the chosen packs are opened. If another program made some of them, choose again without these.
		others := make(map[string]bool)
		for _, p := range chosen {
			if !ours[p.name] {
				ours[p.name] = c.owners.isOurs(p.name)
			}
			if !ours[p.name] {
				others[p.name] = true
			}
		}
		if len(others) == 0 {
			return chosen, len(packs), nil
		}
		packs = slices.DeleteFunc(packs, func(p mergePack) bool { return others[p.name] })
	}
}

// oneLot returns the packs to merge first, at most lot of them. It prefers packs of low tiers. Within a tier it prefers
// new packs, because git repacks the oldest first. It may reorder the slice packs.
func oneLot(packs []mergePack, lot int) []mergePack {
	if len(packs) <= lot {
		return packs
	}
	slices.SortStableFunc(packs, func(a, b mergePack) int {
		return cmp.Or(cmp.Compare(tier(a.objects, a.bytes), tier(b.objects, b.bytes)), b.made.Compare(a.made))
	})
	return packs[:lot]
}

// mergeable returns the packs that may be merged, sorted by their number of objects and their name.
// It reads only names, sizes and times of files, so the packs may be of another program. It returns
// no pack if the multi-pack-index is unreadable.
func (c mergeChooser) mergeable() ([]mergePack, error) {
	dir := c.files.dir
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	named, err := midxPacks(dir)
	if errors.Is(err, errMidx) {
		return nil, nil // a newer git may have written the multi-pack-index, and it may name any pack
	}
	if err != nil {
		return nil, err
	}
	found, held := make(map[string]*mergePack), make(map[string]bool)
	for _, file := range files {
		name, suffix, ok := strings.Cut(file.Name(), ".")
		if !ok || !strings.HasPrefix(name, "pack-") {
			continue
		}
		switch suffix {
		case "idx", "pack":
			info, err := file.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			if found[name] == nil {
				found[name] = &mergePack{name: name, named: named[name]}
			}
			if suffix == "idx" {
				found[name].objects = (info.Size() - indexTableAt - indexTailSize) / indexEntrySize
			} else {
				found[name].bytes, found[name].made = info.Size(), info.ModTime()
			}
		// A .rev file does not prevent a merge, but any further file does.
		case "rev":
		default:
			held[name] = true
		}
	}
	return c.selectMergeable(found, held), nil
}

// selectMergeable returns those of the found packs that may be merged, sorted by their number of objects and
// their name. held has the names of packs with another file, such as .keep. selectMergeable leaves out these
// packs, packs of other programs, packs without objects or without a pack file, and packs of at least
// c.maxBytes bytes.
func (c mergeChooser) selectMergeable(found map[string]*mergePack, held map[string]bool) []mergePack {
	c.owners.mu.Lock()
	defer c.owners.mu.Unlock()
	var packs []mergePack
	for name, p := range found {
		if held[name] || c.owners.foreign[name] || p.objects <= 0 || p.bytes == 0 || p.bytes >= c.maxBytes {
			continue
		}
		// A writer makes the .keep file before the index, but the listing of the folder may show the
		// index without the .keep file. If the .keep file does not exist now, the refs have moved.
		if _, err := os.Lstat(c.files.path(name, ".keep")); err == nil {
			continue
		}
		packs = append(packs, *p)
	}
	slices.SortFunc(packs, func(a, b mergePack) int {
		return cmp.Or(cmp.Compare(a.objects, b.objects), strings.Compare(a.name, b.name))
	})
	return packs
}

// planAll returns the packs to merge. It prefers packs that are in no multi-pack-index. If these are too few
// and there are more than mergeMost packs, planAll chooses from all packs, although git's multi-pack-index then
// becomes invalid.
func planAll(packs []mergePack) []mergePack {
	chosen := planMerge(unnamed(packs))
	if len(chosen) < 2 && len(packs) > mergeMost {
		chosen = planMerge(packs)
	}
	return chosen
}

// unnamed returns a copy of packs without those that are in a multi-pack-index.
func unnamed(packs []mergePack) []mergePack {
	return slices.DeleteFunc(slices.Clone(packs), func(p mergePack) bool { return p.named })
}

// planMerge returns the packs of the lowest full tier, and of each higher tier that the new pack would fill.
// Tier 0 is full with mergeFresh packs, and any other tier with mergeFull packs. planMerge returns nil if no
// tier is full.
func planMerge(packs []mergePack) []mergePack {
	var tiers [][]mergePack
	for _, p := range packs {
		t := tier(p.objects, p.bytes)
		for len(tiers) <= t {
			tiers = append(tiers, nil)
		}
		tiers[t] = append(tiers[t], p)
	}
	var chosen []mergePack
	var objects, size int64
	for t, members := range tiers {
		count, full := len(members), mergeFull
		if t == 0 {
			full = mergeFresh
		}
		if len(chosen) > 0 && tier(objects, size) <= t {
			count++ // the new pack is in this tier
		}
		if count < full {
			continue
		}
		for _, p := range members {
			objects += p.objects
			size += p.bytes
		}
		chosen = append(chosen, members...)
	}
	return chosen
}
