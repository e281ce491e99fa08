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
	// mergeFresh is the number of packs at which the lowest tier, of single captures, is merged.
	// mergeFull is the same for every other tier.
	mergeFresh = 16
	mergeFull  = 4
	// freshObjects bounds the lowest tier; every next tier is tierFactor times larger. So there are
	// at most 15 + 4·3 packs below the size at which merging ends, and a byte is rewritten about
	// twice in each tier.
	freshObjects = 128
	tierFactor   = 8
	// mergeMost is the number of packs, including those in a multi-pack-index, above which a merge takes
	// packs of the multi-pack-index, too. It is above the usual number of other packs.
	mergeMost = 32
	// mergeOnce is the number of packs that become one at once. If there are very many packs, a
	// mergeShare-th of them does, because looking for packs takes as long as merging so many. The
	// others are merged lot by lot: beside a git that keeps taking packs away, a long merge would
	// never end.
	mergeOnce  = 64
	mergeShare = 4
	// objectBytes is the packed size in bytes that counts as one object. So a pack of few large
	// objects is in the tier that fits the cost of copying it.
	objectBytes = 512
)

// mergeChooser chooses the packs that become one.
type mergeChooser struct {
	files    packFiles
	owners   *packOwners
	maxBytes int64 // packs of this size and larger ones are left alone
}

// mergeChoice returns the packs that become one, and the number of this program's packs. It leaves
// out packs that are young now. If there are very many packs, it returns a share-th of them.
type mergeChoice func(now time.Time, share int) (chosen []mergePack, all int, err error)

// choose is a mergeChoice by tiers.
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

// oneLot returns those of the packs that become one first: the small ones, and of these the newest,
// because git repacks the oldest first.
func oneLot(packs []mergePack, lot int) []mergePack {
	if len(packs) <= lot {
		return packs
	}
	slices.SortStableFunc(packs, func(a, b mergePack) int {
		return cmp.Or(cmp.Compare(tier(a.objects, a.bytes), tier(b.objects, b.bytes)), b.made.Compare(a.made))
	})
	return packs[:lot]
}

// mergeable returns the packs that may be merged, judged by their files' names and sizes.
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
		return nil, nil // perhaps of a newer git: it may name any pack
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
		case "rev":
		default:
			held[name] = true
		}
	}
	return c.selectMergeable(found, held), nil
}

func (c mergeChooser) selectMergeable(found map[string]*mergePack, held map[string]bool) []mergePack {
	c.owners.mu.Lock()
	defer c.owners.mu.Unlock()
	var packs []mergePack
	for name, p := range found {
		if held[name] || c.owners.foreign[name] || p.objects <= 0 || p.bytes == 0 || p.bytes >= c.maxBytes {
			continue
		}
		// A .keep file is made before the index. The folder may have been read before the .keep
		// file was made and after the index was. If there is still no .keep file, the refs have
		// moved.
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

// planAll chooses the packs to merge: packs outside of any multi-pack-index. If there are too many
// packs altogether, it chooses from all, although git's multi-pack-index becomes invalid then.
func planAll(packs []mergePack) []mergePack {
	chosen := planMerge(unnamed(packs))
	if len(chosen) < 2 && len(packs) > mergeMost {
		chosen = planMerge(packs)
	}
	return chosen
}

// unnamed returns the packs that are in no multi-pack-index.
func unnamed(packs []mergePack) []mergePack {
	return slices.DeleteFunc(slices.Clone(packs), func(p mergePack) bool { return p.named })
}

// planMerge chooses the packs that become one: the packs of the lowest full tier, and of each tier
// above that the new pack would fill.
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
