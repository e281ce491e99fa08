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
	// mergeFresh is the number of packs at which the lowest tier is merged. The packs of the lowest tier are
	// mostly single captures. mergeFull is the number of packs at which any other tier is merged.
	mergeFresh = 16
	mergeFull  = 4
	// freshObjects is the weight below which a pack is in the lowest tier. The limit of each further tier is
	// tierFactor times higher. So at most 15 packs of the lowest tier and 3 packs of each of four further tiers
	// stay unmerged, and a byte is rewritten about twice in each tier.
	freshObjects = 128
	tierFactor   = 8
	// mergeMost is the number of all mergeable packs above which a merge also takes packs that a
	// multi-pack-index names. It is above the usual number of packs outside a multi-pack-index.
	mergeMost = 32
	// mergeOnce is the largest number of packs in one lot, except if there are very many packs. The other packs
	// follow in further lots. Lots are small because git may remove a chosen pack during a merge, and the merge
	// then starts again. If there are very many packs, a lot has one mergeShare-th of the packs, because
	// choosing a lot lists all packs.
	mergeOnce  = 64
	mergeShare = 4
	// objectBytes is the packed size in bytes that weighs as much as one object. So a pack of a few large
	// objects is in the tier that fits the cost of copying the pack.
	objectBytes = 512
)

// mergeChooser chooses the packs that a merge turns into one pack.
type mergeChooser struct {
	hash     Algorithm
	files    packFiles
	owners   *packOwners
	maxBytes int64 // packs of at least this size are left alone
}

// mergeChoice returns the packs to merge into one pack, or nil. It leaves out packs that are young at the time
// now. If there are very many packs, chosen has at most one share-th of them. all is the number of mergeable
// packs.
type mergeChoice func(now time.Time, share int) (chosen []mergePack, all int, err error)

// choose returns the packs to merge into one pack, or nil if fewer than two packs are to be merged. The packs
// are full tiers of packs of similar weight. No chosen pack is young at the time now, and no chosen pack was
// made by another program. chosen has at most mergeOnce packs or one share-th of the mergeable packs, whichever
// is more. all is the number of mergeable packs.
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
		// Only the chosen packs are opened. If another program made some of the chosen packs, choose again
		// without these.
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

// oneLot returns the packs to merge first, at most lot of them. It prefers packs of low tiers. Within a tier it
// prefers new packs, because git repacks the oldest packs first. oneLot may reorder the slice packs.
func oneLot(packs []mergePack, lot int) []mergePack {
	if len(packs) <= lot {
		return packs
	}
	slices.SortStableFunc(packs, func(a, b mergePack) int {
		return cmp.Or(cmp.Compare(tier(a.objects, a.bytes), tier(b.objects, b.bytes)), b.made.Compare(a.made))
	})
	return packs[:lot]
}

// mergeable returns the packs that may be merged, sorted by their number of objects and their name. It reads
// only names, sizes and times of files, so some of the packs may be of another program. It returns no packs if
// the folder does not exist or the multi-pack-index is malformed.
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
				found[name].objects = c.hash.indexed(info.Size())
			} else {
				found[name].bytes, found[name].made = info.Size(), info.ModTime()
			}
		// A .rev file does not prevent a merge, but a file with any other suffix does.
		case "rev":
		default:
			held[name] = true
		}
	}
	return c.selectMergeable(found, held), nil
}

// selectMergeable returns the found packs that may be merged, sorted by their number of objects and their name.
// held has the names of packs with another file, such as .keep. selectMergeable leaves out these packs, packs
// of other programs, packs without objects or without a pack file, and packs of at least c.maxBytes bytes.
func (c mergeChooser) selectMergeable(found map[string]*mergePack, held map[string]bool) []mergePack {
	c.owners.mu.Lock()
	defer c.owners.mu.Unlock()
	var packs []mergePack
	for name, p := range found {
		if held[name] || c.owners.foreign[name] || p.objects <= 0 || p.bytes == 0 || p.bytes >= c.maxBytes {
			continue
		}
		// A writer makes the .keep file before the index, and removes it after the refs have moved. The listing
		// of the folder may contain the index without the .keep file, so look for the .keep file again.
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

// planAll returns the packs to merge. It prefers packs that no multi-pack-index names. If fewer than two such
// packs are to be merged and there are more than mergeMost packs, planAll chooses from all packs. Merging these
// invalidates git's multi-pack-index.
func planAll(packs []mergePack) []mergePack {
	chosen := planMerge(unnamed(packs))
	if len(chosen) < 2 && len(packs) > mergeMost {
		chosen = planMerge(packs)
	}
	return chosen
}

// unnamed returns a copy of packs without the packs that a multi-pack-index names.
func unnamed(packs []mergePack) []mergePack {
	return slices.DeleteFunc(slices.Clone(packs), func(p mergePack) bool { return p.named })
}

// planMerge returns the packs of every full tier, or nil if no tier is full. Tier 0 is full with mergeFresh
// packs, and any other tier with mergeFull packs. The pack that merging the lower full tiers makes counts as a
// member of a tier unless its own tier is higher.
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
			count++ // the new pack of the lower tiers
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
