package objstore

import (
	"slices"
	"time"
)

const (
	// backdated is how far in the past a new pack is dated, so that its replacements, and their
	// replacements, can have later dates that are not in the future.
	backdated = 10 * time.Second
	// gitPrecision is git's precision when it chooses between two copies of an object by date.
	gitPrecision = time.Second
	// settled is how far in the past a replacing pack is dated, so that a pack that git writes from now on
	// is newer, by git's precision.
	settled = 2 * time.Second
)

// mergePack is a pack that a merge may take.
type mergePack struct {
	name    string
	objects int64
	bytes   int64
	made    time.Time // of the pack's file
	named   bool      // by a multi-pack-index
}

// weight is the number of objects that copying the pack costs as much as.
func (p mergePack) weight() int64 { return max(p.objects, p.bytes/objectBytes) }

func tier(objects, size int64) int {
	n := mergePack{objects: objects, bytes: size}.weight()
	t := 0
	for limit := int64(freshObjects); n >= limit; limit *= tierFactor {
		t++
	}
	return t
}

// datedAfter is the time of a pack that was written now and replaces packs of which the
// newest is dated newest. Of an object that is in several packs git's multi-pack-index names
// the copy in the newest pack, by whole seconds. So an index that knows a pack and the one
// that replaces it names no copy in the former (decision 33).
func datedAfter(now, newest time.Time) time.Time {
	made := now.Add(-backdated)
	if after := newest.Truncate(gitPrecision).Add(gitPrecision); !newest.IsZero() && after.After(made) {
		made = after
	}
	return made
}

// isYoung reports whether what replaces a pack now would be dated too late: git may pack
// the same objects at any moment, and that pack has to be the newer one.
func (p mergePack) isYoung(now time.Time) bool {
	return datedAfter(now, p.made).After(now.Add(-settled))
}

// withoutYoung is those of the packs that may be replaced now. It reuses the slice.
func withoutYoung(packs []mergePack, now time.Time) []mergePack {
	return slices.DeleteFunc(packs, func(p mergePack) bool { return p.isYoung(now) })
}

// newestOf is the time of the newest pack.
func newestOf(packs []mergePack) time.Time {
	var newest time.Time
	for _, p := range packs {
		if p.made.After(newest) {
			newest = p.made
		}
	}
	return newest
}
