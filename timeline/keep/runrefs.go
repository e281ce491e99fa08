package keep

import (
	"context"
	"errors"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// runRefs is a run with the refs that keep its objects.
type runRefs struct {
	component string
	id        string // "" if the run is unreadable
	refs      []refs.Ref
	tip       objstore.ID // the run's tip
	held      objstore.ID // its tip when it was pruned, until it is collected
	gone      objstore.ID // its tombstone
	again     bool        // held is another run of the same id
}

// roots returns the targets of the run's refs.
func (h *runRefs) roots() []objstore.ID {
	roots := make([]objstore.ID, len(h.refs))
	for i, ref := range h.refs {
		roots[i] = ref.ID
	}
	return roots
}

// holdings groups refs by run, and returns the other refs separately.
func (k *Keeper) holdings(list []refs.Ref) (runs map[string]*runRefs, others []refs.Ref) {
	runs = make(map[string]*runRefs)
	of := func(component string) *runRefs {
		h, ok := runs[component]
		if !ok {
			h = &runRefs{component: component}
			runs[component] = h
		}
		return h
	}
	for _, ref := range list {
		folder, component := keptBy(ref.Name)
		switch folder {
		case "":
			others = append(others, ref)
			continue
		case "_gone":
			of(component).gone = ref.ID
			others = append(others, ref)
			continue
		case "_tip":
			of(component).tip = ref.ID
		case "_held":
			of(component).held = ref.ID
		}
		h := of(component)
		h.refs = append(h.refs, ref)
	}
	for _, h := range runs {
		h.id, _, _ = refs.UnescapeRun(h.component)
		if h.id == "" {
			h.id = k.readID(h)
		}
	}
	return runs, others
}

// keptBy returns the folder and the run's component of a ref; "" if the ref belongs to no run.
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

// readID reads the id of a run whose ref component is hashed.
func (k *Keeper) readID(h *runRefs) string {
	for _, tip := range []objstore.ID{h.tip, h.held} {
		if entry, err := snapshot.ReadEntry(k.store.Objects(), tip); err == nil {
			return entry.Run
		}
	}
	stone, err := snapshot.ReadTombstone(k.store.Objects(), h.gone)
	if err != nil {
		return ""
	}
	return stone.Run
}

// resolve returns a ref's id; zero if there is no such ref.
func resolve(ctx context.Context, store *timeline.Store, name refs.Name) (objstore.ID, error) {
	id, err := store.Refs().Resolve(ctx, name)
	if errors.Is(err, refs.ErrNotFound) {
		return objstore.ID{}, nil
	}
	return id, timeline.Explain(err)
}
