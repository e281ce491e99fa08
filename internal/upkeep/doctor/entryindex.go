package doctor

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"io"
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// entry is an entry of the repository.
type entry struct {
	ID, Parent objstore.ID
	AtMs       int64
	verified   bool // verify has read the entry and everything that belongs to it
}

// entryIndex holds all entries of the repository, including entries that no ref reaches.
type entryIndex struct {
	store *timeline.Store
	git   *gitRunner
	refs  *refs.Inventory
	left  []objstore.ID                     // the listed commits, until read has read them; nil before list
	all   map[objstore.ID]*entry            // nil before list
	byRun map[string]map[objstore.ID]*entry // by run id
}

// newest returns the newest entry of a run, even if no ref reaches the entry, or nil if the repository has no
// entry of the run. run is an id, or a ref component if the id is unknown. The first call reads every commit of
// the repository.
//
// Entries that were split off into a fork do not count. A conflict between processes can leave several last entries,
// each without a successor. Among these entries, newest prefers those that descend from the newest frame ref. If there
// are none, it prefers those that descend from the run's tip at a remote. Of the preferred entries, newest prefers
// those that were acknowledged (see neverAcknowledged), then the longest chain, then the latest time.
func (x *entryIndex) newest(ctx context.Context, run string) (*entry, error) {
	if err := x.read(ctx); err != nil {
		return nil, err
	}
	for id := range x.byRun {
		if component, err := refs.EscapeRun(id); err == nil && component == run {
			run = id // the caller knew only the ref component
		}
	}
	entries := x.withoutForks(run)
	followed := make(map[objstore.ID]bool)
	for _, entry := range entries {
		followed[entry.Parent] = true
	}
	var last []*entry // the entries without a successor
	for id, entry := range entries {
		if !followed[id] {
			last = append(last, entry)
		}
	}
	// If some of these entries descend from the newest frame ref, the others do not count. The tip at a remote
	// decides only if there is no such entry.
	for _, known := range [][]objstore.ID{x.newestFrame(ctx, run), x.atRemotes(run)} {
		onward := slices.DeleteFunc(slices.Clone(last), func(entry *entry) bool {
			return !slices.ContainsFunc(known, func(from objstore.ID) bool { return timeline.Descends(x.store.Objects(), entry.ID, from) })
		})
		if len(onward) > 0 {
			last = onward
			break
		}
	}
	last, err := x.acknowledged(last)
	if err != nil || len(last) == 0 {
		return nil, err
	}
	return slices.MaxFunc(last, func(a, b *entry) int {
		return cmp.Or(
			cmp.Compare(length(entries, a), length(entries, b)), cmp.Compare(a.AtMs, b.AtMs), a.ID.Compare(b.ID),
		)
	}), nil
}

// acknowledged returns the given entries without those that a killed process wrote and never acknowledged. If
// no entry remains, it returns all given entries.
func (x *entryIndex) acknowledged(entries []*entry) ([]*entry, error) {
	if len(entries) < 2 {
		return entries, nil
	}
	var others []*entry
	for _, entry := range entries {
		left, err := x.store.Objects().Unacknowledged(entry.ID)
		if err != nil {
			return nil, err
		}
		if !left {
			others = append(others, entry)
		}
	}
	if len(others) == 0 {
		return entries, nil
	}
	return others, nil
}

// withoutForks returns the entries of a run by id, without the entries that were split off into a fork (see splitOff).
// A fork has such entries if its parent is the run, and its extension is not zero.
func (x *entryIndex) withoutForks(run string) map[objstore.ID]*entry {
	own, all := maps.Clone(x.byRun[run]), x.byRun[run]
	after := make(map[objstore.ID][]objstore.ID)
	for id, entry := range all {
		after[entry.Parent] = append(after[entry.Parent], id)
	}
	for id, entries := range x.byRun {
		for _, entry := range entries {
			if id == run || entries[entry.Parent] != nil || all[entry.Parent] == nil {
				continue // only the first entry of another run, after an entry of this run, begins a fork
			}
			first, err := snapshot.ReadEntry(x.store.Objects(), entry.ID)
			if err != nil {
				continue
			}
			row, err := first.RunRow()
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

// splitOff returns the entries of a run that belong only to fork: the fork's extension and the entries before it, back
// to the entry at which the run branches off. The map all has the run's entries, and the map after lists the
// successors of each entry within the run.
//
// splitOff returns no entries if the run continues after the extension, or if the run does not branch off between the
// extension and the fork's parent frame: then the entries are the run's own.
func splitOff(all map[objstore.ID]*entry, after map[objstore.ID][]objstore.ID, fork snapshot.Parent) []objstore.ID {
	var off []objstore.ID
	for at := fork.Extension; all[at] != nil; at = all[at].Parent {
		// The run continues after the extension if the extension has a successor. It branches off at an earlier
		// entry if that entry has a second successor, besides the one in off.
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

// length returns the number of entries in the chain that ends at last. It counts back from last to the first entry
// that is not in entries.
func length(entries map[objstore.ID]*entry, last *entry) int {
	n := 0
	for ok := true; ok; last, ok = entries[last.Parent] {
		n++
	}
	return n
}

// newestFrame returns the id of the entry at the run's newest readable frame ref, as a slice with one element.
// It returns nil if the run has no such ref.
func (x *entryIndex) newestFrame(ctx context.Context, run string) []objstore.ID {
	list, _ := x.store.Refs().Frames(ctx, run) // with an error, list has the readable refs
	for _, ref := range slices.Backward(list) {
		if entry, err := snapshot.ReadEntry(x.store.Objects(), ref.ID); err == nil && entry.Run == run {
			return []objstore.ID{ref.ID}
		}
	}
	return nil
}

// atRemotes returns the values of the run's tracking refs: its tips at remotes at the last contact.
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

// list lists the commits of the repository. After the first call, it does nothing.
func (x *entryIndex) list(ctx context.Context) error {
	if x.all != nil {
		return nil
	}
	args := []string{"cat-file", "--batch-all-objects", "--unordered", "--batch-check=%(objecttype) %(objectname)"}
	_, err := gitexec.New(x.git.repo, x.git.env).Read(ctx, nil, args, func(out io.Reader) error {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if name, ok := bytes.CutPrefix(lines.Bytes(), []byte("commit ")); ok {
				id, err := objstore.ParseID(string(name))
				if err != nil {
					return err
				}
				x.left = append(x.left, id)
			}
		}
		return nil
	})
	if err != nil && x.left == nil {
		return err // with damaged objects, git fails but lists the other objects
	}
	x.all, x.byRun = make(map[objstore.ID]*entry), make(map[string]map[objstore.ID]*entry)
	return nil
}

// read reads the listed commits that add has not added, and adds the entries among them. It skips unreadable commits.
func (x *entryIndex) read(ctx context.Context) error {
	if err := x.list(ctx); err != nil {
		return err
	}
	for _, id := range x.left {
		if err := ctx.Err(); err != nil {
			return err
		}
		if x.all[id] != nil {
			continue
		}
		if of, err := snapshot.ReadEntry(x.store.Objects(), id); err == nil { // else a commit of the user's, or damaged
			x.add(of, false)
		}
	}
	x.left = nil
	return nil
}

// add adds an entry as it is stored.
func (x *entryIndex) add(of *snapshot.Entry, verified bool) {
	if x.byRun[of.Run] == nil {
		x.byRun[of.Run] = make(map[objstore.ID]*entry)
	}
	one := &entry{of.ID, of.Parent, of.AtMs, verified}
	x.all[of.ID], x.byRun[of.Run][of.ID] = one, one
}

// unverified returns those of tips and of the parents of verified entries that are not verified themselves.
func (x *entryIndex) unverified(tips []objstore.ID) (left []objstore.ID) {
	add := func(id objstore.ID) {
		if of := x.all[id]; !id.IsZero() && (of == nil || !of.verified) {
			left = append(left, id)
		}
	}
	for _, of := range x.all {
		if of.verified {
			add(of.Parent)
		}
	}
	for _, tip := range tips {
		add(tip)
	}
	return left
}

// reached returns the ids of the entries that are reachable from a ref or from an id in elsewhere. elsewhere has the
// values of misplaced refs. The caller must have called read.
func (x *entryIndex) reached(elsewhere []objstore.ID) map[objstore.ID]bool {
	from := slices.Clone(elsewhere)
	for _, item := range x.refs.Items {
		from = append(from, item.ID)
	}
	reached := make(map[objstore.ID]bool)
	for _, id := range from {
		for at := x.all[id]; at != nil && !reached[at.ID]; at = x.all[at.Parent] {
			reached[at.ID] = true
		}
	}
	return reached
}

// neverAcknowledged reports whether a killed process wrote all entries of a run that are not in reached, and
// acknowledged none of them. It returns true if all entries of the run are in reached.
//
// A process keeps a .keep file for each new pack, and removes the file before it acknowledges the entries in the pack.
// So an entry was never acknowledged if it is only in packs that still have such a file. After a
// day, a merge of packs removes this evidence, and neverAcknowledged returns false.
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
