package prune

import (
	"context"
	"errors"
	"maps"
	"path/filepath"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// pastFolder is the subfolder of the store's private folder with one file for each collected run. The name of a file is
// the run's ref component. The file lists the ids of the run's entries, so that PruneRemote recognizes these entries at
// a remote.
const pastFolder = "collected"

// pastEntries holds the known entries of a pruned run.
type pastEntries struct {
	ids   map[objstore.ID]bool
	whole bool // ids has all entries of the run
}

// pastRuns reads and records the entries of pruned runs.
type pastRuns struct{ store *timeline.Store }

// of returns the known entries of the pruned run h: the recorded entries, and the readable entries in the chain of
// its tombstone. The field whole is true if the record has the run's tip, or if the whole chain is readable. A
// missing or corrupt entry of the chain is not an error. An unreadable tombstone is an error.
func (p pastRuns) of(ctx context.Context, h *runRefs) (pastEntries, error) {
	stone, err := snapshot.ReadTombstone(p.store.Objects(), h.gone)
	if err != nil {
		return pastEntries{}, err
	}
	out := pastEntries{ids: map[objstore.ID]bool{stone.Tip: true}}
	noted, err := p.file(h).read()
	if err != nil {
		return out, err
	}
	for id := range noted {
		out.ids[id] = true
	}
	_, out.whole = noted[stone.Tip]
	entries, err := p.entriesFrom(ctx, stone.Tip)
	for id := range entries {
		out.ids[id] = true
	}
	if errors.Is(err, objstore.ErrNotFound) || errors.Is(err, objstore.ErrCorrupt) { // collected or damaged
		return out, nil
	}
	out.whole = true
	return out, err
}

// entriesFrom returns the ids of a run's entries, from tip to the run's first entry. If a fork's frame 0 is a
// frame of its parent, the result includes that frame. With an error, entriesFrom also returns the entries
// that it has read.
func (p pastRuns) entriesFrom(ctx context.Context, tip objstore.ID) (map[objstore.ID]struct{}, error) {
	ids := make(map[objstore.ID]struct{})
	entry, err := snapshot.ReadEntry(p.store.Objects(), tip)
	if err != nil {
		return ids, err
	}
	run, err := p.store.Frames(ctx, entry, objstore.ID{})
	if run == nil {
		return ids, err
	}
	for _, id := range run.Commits {
		ids[id] = struct{}{}
	}
	for _, frame := range run.Frames {
		ids[frame.ID] = struct{}{}
	}
	return ids, err
}

// file returns the file with the recorded entries of the run h.
func (p pastRuns) file(h *runRefs) idFile {
	return idFile(filepath.Join(p.store.Private(), pastFolder, h.component))
}

// record records the entries of the run h before the run is collected, and keeps the entries that were recorded
// before. It records nothing if the run is not held, or if it is damaged or in an older format: then the list
// would be incomplete.
func (p pastRuns) record(ctx context.Context, h *runRefs) error {
	if h.held.IsZero() {
		return nil
	}
	ids, err := p.entriesFrom(ctx, h.held)
	if errors.Is(err, objstore.ErrNotFound) || errors.Is(err, objstore.ErrCorrupt) || errors.Is(err, snapshot.ErrOlderFormat) {
		return nil
	}
	if err != nil {
		return err
	}
	before, err := p.file(h).read()
	if err != nil {
		return err
	}
	maps.Copy(ids, before)
	return p.file(h).write(ids)
}
