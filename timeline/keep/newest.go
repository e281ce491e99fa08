package keep

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
)

// newestEntry returns the newest entry of a run, even if no ref leads to it; nil if there is none. It
// reads every commit, once for all runs.
//
// Entries that became a fork, because the run had been continued elsewhere, too, do not count. Conflicts
// leave several entries that nothing follows. newestEntry prefers one that follows the newest frame
// ref, then one that follows a remote's tip, then the longest chain.
func (e *examination) newestEntry(ctx context.Context, run string) (*snapshot.Entry, error) {
	if e.entries == nil {
		if err := e.readEntries(ctx); err != nil {
			return nil, err
		}
	}
	for id := range e.entries {
		if component, err := refs.EscapeRun(id); err == nil && component == run {
			run = id // only the hash of the id was known
		}
	}
	entries := e.withoutForks(run)
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
	for _, known := range [][]objstore.ID{e.newestFrame(ctx, run), e.atRemotes(run)} {
		onward := slices.DeleteFunc(slices.Clone(last), func(entry *snapshot.Entry) bool {
			return !slices.ContainsFunc(known, func(from objstore.ID) bool { return e.descends(entry.ID, from) })
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
func (e *examination) withoutForks(run string) map[objstore.ID]*snapshot.Entry {
	own, all := maps.Clone(e.entries[run]), e.entries[run]
	after := make(map[objstore.ID][]objstore.ID)
	for id, entry := range all {
		after[entry.Parent] = append(after[entry.Parent], id)
	}
	for id, entries := range e.entries {
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
func (e *examination) newestFrame(ctx context.Context, run string) []objstore.ID {
	list, _ := e.store.Refs().Frames(ctx, run) // broken refs do not help
	for _, ref := range slices.Backward(list) {
		if entry, err := snapshot.ReadEntry(e.store.Objects(), ref.ID); err == nil && entry.Run == run {
			return []objstore.ID{ref.ID}
		}
	}
	return nil
}

// atRemotes returns the tips of a run that remotes were last seen to have.
func (e *examination) atRemotes(run string) []objstore.ID {
	var ids []objstore.ID
	for _, item := range e.refs.Items {
		folder, component := keptBy(item.Name)
		if folder != "remote" || item.Broken != nil {
			continue
		}
		if own, err := refs.EscapeRun(run); err == nil && component == own {
			ids = append(ids, item.ID)
		}
	}
	return ids
}

// readEntries reads all commits of the repository, and keeps the entries.
func (e *examination) readEntries(ctx context.Context) error {
	e.entries = make(map[string]map[objstore.ID]*snapshot.Entry)
	out, err := e.git(ctx, "cat-file", "--batch-all-objects", "--unordered", "--batch-check=%(objectname) %(objecttype)")
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
		entry, err := snapshot.ReadEntry(e.store.Objects(), id)
		if err != nil {
			continue // the user's own, or damaged
		}
		of := e.entries[entry.Run]
		if of == nil {
			of = make(map[objstore.ID]*snapshot.Entry)
			e.entries[entry.Run] = of
		}
		of[id] = entry
	}
	return nil
}
