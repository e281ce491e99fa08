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

// holding is a run and the refs that keep what it has.
type holding struct {
	component string
	id        string // "" where the run cannot be read
	refs      []refs.Ref
	tip       objstore.ID // where the run is
	held      objstore.ID // where it was pruned, and is not collected
	gone      objstore.ID // its tombstone
	again     bool        // what is held beside another run of the same id
}

// roots are what the run's refs point at.
func (h *holding) roots() []objstore.ID {
	roots := make([]objstore.ID, len(h.refs))
	for i, ref := range h.refs {
		roots[i] = ref.ID
	}
	return roots
}

// holdings sorts refs by the runs that they keep, and tells which keep no run's.
func (k *Keeper) holdings(list []refs.Ref) (runs map[string]*holding, others []refs.Ref) {
	runs = make(map[string]*holding)
	of := func(component string) *holding {
		h, ok := runs[component]
		if !ok {
			h = &holding{component: component}
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

// keptBy is the run that a ref keeps, as its ref component, and in which folder of ours
// the ref is; "" for a ref that is no run's.
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

// readID is the id of a run whose ref component does not say it.
func (k *Keeper) readID(h *holding) string {
	for _, tip := range []objstore.ID{h.tip, h.held} {
		if entry, err := snapshot.ReadEntry(k.parts.Objects, tip); err == nil {
			return entry.Run
		}
	}
	stone, err := snapshot.ReadTombstone(k.parts.Objects, h.gone)
	if err != nil {
		return ""
	}
	return stone.Run
}

// resolve is a ref's id; zero where it is not there.
func (k *Keeper) resolve(ctx context.Context, name refs.Name) (objstore.ID, error) {
	id, err := k.parts.Refs.Resolve(ctx, name)
	if errors.Is(err, refs.ErrNotFound) {
		return objstore.ID{}, nil
	}
	return id, timeline.Explain(err)
}
