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
	// ripe is how far in the past a replacing pack is dated, so that a pack that git writes from now on
	// is newer, by git's precision.
	ripe = 2 * time.Second
)

// mergePack is a pack that a merge may take.
type mergePack struct {
	name    string
	objects int64
	bytes   int64
	made    time.Time // of the pack's file
	named   bool      // a multi-pack-index names it
}

// weight returns the cost of copying the pack, as a number of objects.
func (p mergePack) weight() int64 { return max(p.objects, p.bytes/objectBytes) }

func tier(objects, size int64) int {
	n := mergePack{objects: objects, bytes: size}.weight()
	t := 0
	for limit := int64(freshObjects); n >= limit; limit *= tierFactor {
		t++
	}
	return t
}

// datedAfter returns the time for a pack that is written now and replaces packs, the newest of
// which is dated newest. Of an object that is in several packs, git's multi-pack-index names the
// copy in the newest pack, by whole seconds. So an index that knows both a pack and its replacement
// names no copy in the former (decision 33).
func datedAfter(now, newest time.Time) time.Time {
	made := now.Add(-backdated)
	if after := newest.Truncate(gitPrecision).Add(gitPrecision); !newest.IsZero() && after.After(made) {
		made = after
	}
	return made
}

// isYoung reports whether a replacement of the pack would be dated too late now: git may pack the
// same objects at any moment, and git's pack has to be the newer one.
func (p mergePack) isYoung(now time.Time) bool {
	return datedAfter(now, p.made).After(now.Add(-ripe))
}

// withoutYoung returns those of the packs that may be replaced now. It reuses the slice.
func withoutYoung(packs []mergePack, now time.Time) []mergePack {
	return slices.DeleteFunc(packs, func(p mergePack) bool { return p.isYoung(now) })
}

// newestOf returns the time of the newest pack.
func newestOf(packs []mergePack) time.Time {
	var newest time.Time
	for _, p := range packs {
		if p.made.After(newest) {
			newest = p.made
		}
	}
	return newest
}
