package prune

import (
	"context"
	"errors"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// runRefs is a run with the refs that keep its objects. An id is zero if the run has no such ref.
type runRefs struct {
	component string      // the run's component in ref names
	id        string      // "" if the component is hashed and the run is unreadable
	refs      []refs.Ref  // tip, held, frame and tracking refs, but not the tombstone
	tip       objstore.ID // the run's tip
	held      objstore.ID // the run's tip when the run was pruned, until the run is collected
	gone      objstore.ID // the run's tombstone
	again     bool        // held belongs to another run with the same id
}

// roots returns the objects at the run's refs.
func (h *runRefs) roots() []objstore.ID {
	roots := make([]objstore.ID, len(h.refs))
	for i, ref := range h.refs {
		roots[i] = ref.ID
	}
	return roots
}

// holdings groups the refs in list by run. The keys of runs are ref components.
// others has the refs that keep no objects of a run: tombstones, and refs that belong to no run.
func (k *Keeper) holdings(list []refs.Ref) (runs map[string]*runRefs, others []refs.Ref) {
	runs, others = byRun(list)
	for _, h := range runs {
		h.id, _, _ = refs.UnescapeRun(h.component)
		if h.id == "" {
			h.id = k.readID(h)
		}
	}
	return runs, others
}

// byRun groups refs, of this repository or of a remote, as holdings does. It leaves the ids of the runs empty.
func byRun(list []refs.Ref) (runs map[string]*runRefs, others []refs.Ref) {
	runs = make(map[string]*runRefs)
	for _, ref := range list {
		folder, component := keptBy(ref.Name)
		if folder == "" {
			others = append(others, ref)
			continue
		}
		h := runs[component]
		if h == nil {
			h = &runRefs{component: component}
			runs[component] = h
		}
		switch folder {
		case "_gone":
			h.gone = ref.ID
			others = append(others, ref)
			continue
		case "_tip":
			h.tip = ref.ID
		case "_held":
			h.held = ref.ID
		}
		h.refs = append(h.refs, ref)
	}
	return runs, others
}

// frames returns the frame refs of the run that have valid names.
func (h *runRefs) frames() []refs.Ref {
	var frames []refs.Ref
	for _, ref := range h.refs {
		folder, _ := keptBy(ref.Name)
		if _, _, err := ref.Name.Split(); err == nil && folder == "frames" {
			frames = append(frames, ref)
		}
	}
	return frames
}

// keptBy returns the kind of a ref as folder, and the ref component of its run. folder is _tip, _held, _gone,
// frames, or, for a tracking ref, remote. Both results are "" if the ref belongs to no run.
func keptBy(name refs.Name) (folder, component string) {
	parts := strings.Split(string(name), "/")
	switch {
	case len(parts) == 4 && parts[1] == "smithers" && (parts[2] == "_tip" || parts[2] == "_held" || parts[2] == "_gone"):
		return parts[2], parts[3]
	case len(parts) == 4 && parts[1] == "smithers":
		return "frames", parts[2]
	case len(parts) == 4 && parts[1] == "smithers-remote":
		return "remote", parts[3]
	}
	return "", ""
}

// readID reads the id of the run h from its tip, its held entry or its tombstone. The caller needs readID if the ref
// component of h is a hash of the id. It returns "" if it finds no id.
func (k *Keeper) readID(h *runRefs) string {
	for _, tip := range []objstore.ID{h.tip, h.held} {
		if entry, err := snapshot.ReadEntry(k.store.Objects(), tip); err == nil {
			return entry.Run
		}
	}
	if stone, err := snapshot.ReadTombstone(k.store.Objects(), h.gone); err == nil {
		return stone.Run
	}
	return ""
}

// resolve returns the object at the ref name, or the zero id if the ref is missing.
func resolve(ctx context.Context, store *timeline.Store, name refs.Name) (objstore.ID, error) {
	id, err := store.Refs().Resolve(ctx, name)
	if errors.Is(err, refs.ErrNotFound) {
		return objstore.ID{}, nil
	}
	return id, timeline.Explain(err)
}
