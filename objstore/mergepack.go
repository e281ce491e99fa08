package objstore

import (
	"slices"
	"time"
)

const (
	// backdated is the time by which the date of a new pack is before the present. So the pack's replacement,
	// and the replacement's replacement, can have later dates that are not in the future.
	backdated = 10 * time.Second
	// gitPrecision is the precision of dates when git chooses between two copies of an object.
	gitPrecision = time.Second
	// ripe is the minimum age, by its date, of a pack that replaces others. So a pack that git writes from now
	// on is newer, even when git compares whole seconds.
	ripe = 2 * time.Second
)

// mergePack describes a pack that a merge may replace.
type mergePack struct {
	name    string    // "pack-<checksum>"
	objects int64     // number of objects
	bytes   int64     // size of the pack file
	made    time.Time // modification time of the pack file
	named   bool      // a multi-pack-index names the pack
}

// weight returns the cost of copying the pack: the number of objects, or the size in units of objectBytes if
// that is more.
func (p mergePack) weight() int64 { return max(p.objects, p.bytes/objectBytes) }

// tier returns the tier of a pack with this number of objects and this size in bytes. Tier 0 has the packs with
// a weight below freshObjects. The limit of each further tier is tierFactor times as high.
func tier(objects, size int64) int {
	n := mergePack{objects: objects, bytes: size}.weight()
	t := 0
	for limit := int64(freshObjects); n >= limit; limit *= tierFactor {
		t++
	}
	return t
}

// datedAfter returns the date of a pack that is written now. newest is the date of the newest pack that the
// written pack replaces, or zero if it replaces no pack. The result is now minus backdated or the next whole
// second after newest, whichever is later.
//
// If several packs have an object, git's multi-pack-index lists only the copy in the newest pack, by whole
// seconds. So a multi-pack-index with both a pack and its replacement lists no copy in the replaced pack
// (decision 33).
func datedAfter(now, newest time.Time) time.Time {
	made := now.Add(-backdated)
	if after := newest.Truncate(gitPrecision).Add(gitPrecision); !newest.IsZero() && after.After(made) {
		made = after
	}
	return made
}

// isYoung reports whether the pack is too new to be replaced now: the date of its replacement would be later than now
// minus ripe. git may write a pack with the same objects at any moment, and the pack of git must be newer than the
// replacement.
func (p mergePack) isYoung(now time.Time) bool {
	return datedAfter(now, p.made).After(now.Add(-ripe))
}

// withoutYoung returns the packs that are not young at the time now. It overwrites the slice packs.
func withoutYoung(packs []mergePack, now time.Time) []mergePack {
	return slices.DeleteFunc(packs, func(p mergePack) bool { return p.isYoung(now) })
}

// newestOf returns the date of the newest of packs, or the zero time if packs is empty.
func newestOf(packs []mergePack) time.Time {
	var newest time.Time
	for _, p := range packs {
		if p.made.After(newest) {
			newest = p.made
		}
	}
	return newest
}
