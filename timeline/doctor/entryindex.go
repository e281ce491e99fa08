package doctor

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// entryIndex is all entries in the repository, whether or not a ref leads to them.
type entryIndex struct {
	store *timeline.Store
	git   *gitRunner
	refs  *refs.Inventory
	byRun map[string]map[objstore.ID]*snapshot.Entry // nil until they are read
}

// newest returns the newest entry of a run, even if no ref leads to it; nil if there is none. It
// reads every commit, once for all runs.
//
// Entries that became a fork, because the run had been continued elsewhere, too, do not count. Conflicts
// leave several entries that nothing follows. newest prefers one that follows the newest frame
// ref, then one that follows a remote's tip, then the longest chain.
func (x *entryIndex) newest(ctx context.Context, run string) (*snapshot.Entry, error) {
	if err := x.read(ctx); err != nil {
		return nil, err
	}
	for id := range x.byRun {
		if component, err := refs.EscapeRun(id); err == nil && component == run {
			run = id // only the hash of the id was known
		}
	}
	entries := x.withoutForks(run)
	followed := make(map[objstore.ID]bool)
	for _, entry := range entries {
		followed[entry.Parent] = true
	}
	var last []*snapshot.Entry
	for id, entry := range entries {
		if !followed[id] {
			last = append(last, entry)
		}
	}
	for _, known := range [][]objstore.ID{x.newestFrame(ctx, run), x.atRemotes(run)} {
		onward := slices.DeleteFunc(slices.Clone(last), func(entry *snapshot.Entry) bool {
			return !slices.ContainsFunc(known, func(from objstore.ID) bool { return timeline.Descends(x.store.Objects(), entry.ID, from) })
		})
		if len(onward) > 0 {
			last = onward
			break
		}
	}
	if len(last) == 0 {
		return nil, nil
	}
	return slices.MaxFunc(last, func(a, b *snapshot.Entry) int {
		return cmp.Or(
			cmp.Compare(length(entries, a), length(entries, b)), cmp.Compare(a.AtMs, b.AtMs), a.ID.Compare(b.ID),
		)
	}), nil
}

// withoutForks returns the entries of a run without those that were split off into another run.
func (x *entryIndex) withoutForks(run string) map[objstore.ID]*snapshot.Entry {
	own, all := maps.Clone(x.byRun[run]), x.byRun[run]
	after := make(map[objstore.ID][]objstore.ID)
	for id, entry := range all {
		after[entry.Parent] = append(after[entry.Parent], id)
	}
	for id, entries := range x.byRun {
		for _, entry := range entries {
			if id == run || entries[entry.Parent] != nil || all[entry.Parent] == nil {
				continue // not the first entry of another run, or not after an entry of this run
			}
			row, err := entry.RunRow()
			if err != nil || row.Parent == nil || row.Parent.RunID != run || row.Parent.Extension.IsZero() {
				continue
			}
			for _, id := range splitOff(all, after, *row.Parent) {
				delete(own, id)
			}
		}
	}
	return own
}

// splitOff returns the entries from a fork's extension on that nothing else in the run follows. It
// returns none if nothing else continues the run, because then they are the run's.
func splitOff(all map[objstore.ID]*snapshot.Entry, after map[objstore.ID][]objstore.ID, fork snapshot.Parent) []objstore.ID {
	var off []objstore.ID
	for at := fork.Extension; all[at] != nil; at = all[at].Parent {
		if len(after[at]) > min(len(off), 1) {
			return off
		}
		if at == fork.Commit {
			break
		}
		off = append(off, at)
	}
	return nil
}

// length returns the number of entries in the chain of an entry.
func length(entries map[objstore.ID]*snapshot.Entry, of *snapshot.Entry) int {
	n := 0
	for ok := true; ok; of, ok = entries[of.Parent] {
		n++
	}
	return n
}

// newestFrame returns the entry of a run's newest frame ref, if there is one.
func (x *entryIndex) newestFrame(ctx context.Context, run string) []objstore.ID {
	list, _ := x.store.Refs().Frames(ctx, run) // broken refs do not help
	for _, ref := range slices.Backward(list) {
		if entry, err := snapshot.ReadEntry(x.store.Objects(), ref.ID); err == nil && entry.Run == run {
			return []objstore.ID{ref.ID}
		}
	}
	return nil
}

// atRemotes returns the tips of a run that remotes were last seen to have.
func (x *entryIndex) atRemotes(run string) []objstore.ID {
	var ids []objstore.ID
	for _, item := range x.refs.Items {
		component, ok := trackedRun(item.Name)
		if !ok || item.Broken != nil {
			continue
		}
		if own, err := refs.EscapeRun(run); err == nil && component == own {
			ids = append(ids, item.ID)
		}
	}
	return ids
}

// read reads all commits of the repository once, and keeps the entries.
func (x *entryIndex) read(ctx context.Context) error {
	if x.byRun != nil {
		return nil
	}
	byRun := make(map[string]map[objstore.ID]*snapshot.Entry)
	out, err := x.git.run(ctx, "cat-file", "--batch-all-objects", "--unordered", "--batch-check=%(objectname) %(objecttype)")
	if err != nil && out == "" {
		return err // git lists the others if objects are damaged
	}
	lines := bufio.NewScanner(bytes.NewReader([]byte(out)))
	for lines.Scan() {
		name, kind, _ := strings.Cut(lines.Text(), " ")
		id, err := objstore.ParseID(name)
		if err != nil || kind != "commit" {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		entry, err := snapshot.ReadEntry(x.store.Objects(), id)
		if err != nil {
			continue // the user's own, or damaged
		}
		of := byRun[entry.Run]
		if of == nil {
			of = make(map[objstore.ID]*snapshot.Entry)
			byRun[entry.Run] = of
		}
		of[id] = entry
	}
	x.byRun = byRun
	return nil
}

// reached returns the entries that refs lead to. elsewhere are the targets of refs in wrong places.
func (x *entryIndex) reached(elsewhere []objstore.ID) map[objstore.ID]bool {
	all := make(map[objstore.ID]*snapshot.Entry)
	for _, entries := range x.byRun {
		maps.Copy(all, entries)
	}
	from := slices.Clone(elsewhere)
	for _, item := range x.refs.Items {
		from = append(from, item.ID)
	}
	reached := make(map[objstore.ID]bool)
	for _, id := range from {
		for entry := all[id]; entry != nil && !reached[entry.ID]; entry = all[entry.Parent] {
			reached[entry.ID] = true
		}
	}
	return reached
}

// neverAcknowledged reports whether a killed process left the entries of a run without acknowledging any of them. Such
// entries are only in packs that the process still kept locked, because it releases its packs before it acknowledges.
//
// After a day, the packs are merged, and the entries look like those of a run that lost its refs.
func (x *entryIndex) neverAcknowledged(run string, reached map[objstore.ID]bool) (bool, error) {
	for id := range x.byRun[run] {
		if reached[id] {
			continue
		}
		if left, err := x.store.Objects().Unacknowledged(id); err != nil || !left {
			return false, err
		}
	}
	return true, nil
}
