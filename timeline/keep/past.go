package keep

import (
	"context"
	"errors"
	"maps"
	"path/filepath"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// pastFolder is the folder, in the store's private folder, with a file for each collected run. The
// file is named for the run's ref component and lists the ids of its entries, one a line. They
// identify an earlier state of the run at a remote.
const pastFolder = "collected"

// pastEntries is the known entries of a pruned run.
type pastEntries struct {
	ids   map[objstore.ID]bool
	whole bool // ids is complete
}

// pastRuns remembers the entries of pruned runs.
type pastRuns struct{ store *timeline.Store }

// of returns the entries of a pruned run, held or collected.
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

// entriesFrom returns the entries of a run back to its first, and the parent's frame that is its frame 0;
// with an error, as far as they are readable.
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

func (p pastRuns) file(h *runRefs) idFile {
	return idFile(filepath.Join(p.store.Private(), pastFolder, h.component))
}

// record records the entries of a run before it is collected. For a damaged run it records
// nothing, because the list would be incomplete.
func (p pastRuns) record(ctx context.Context, h *runRefs) error {
	if h.held.IsZero() {
		return nil
	}
	ids, err := p.entriesFrom(ctx, h.held)
	if errors.Is(err, objstore.ErrNotFound) || errors.Is(err, objstore.ErrCorrupt) {
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
