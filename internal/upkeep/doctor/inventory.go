package doctor

import (
	"context"
	"errors"
	"path"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/timeline"
)

// readRefs reads all refs and sets e.refs and e.entries. It notes a packed-refs file with invalid lines, and damaged
// reftables.
func (e *examination) readRefs(ctx context.Context) (err error) {
	if e.refs, err = e.store.Refs().Inventory(ctx); err != nil {
		return err
	}
	e.entries = &entryIndex{store: e.store, git: e.git, refs: e.refs}
	for _, what := range e.refs.Tables {
		e.note(Finding{Kind: DamagedTables, Where: refs.TablesFolder, What: what}, nil)
	}
	if e.refs.Packed == nil {
		return nil
	}
	e.note(Finding{
		Kind: DamagedPacked, Where: packedRefs, What: describeLines(e.refs.Lines),
		Repair: "keeps the valid lines, and a copy of the file in smithers/damaged",
	}, e.repairs.mendPacked)
	return nil
}

// runOf returns the id of the run that the ref name belongs to, or its ref component if the component is a
// hash of the id.
func runOf(name refs.Name) string {
	component := path.Base(string(name))
	if own, frame, err := name.Split(); err == nil && frame != refs.NoFrame {
		component = own
	}
	return refs.ShownRun(component)
}

// isIn reports whether the ref name is below folder, which ends in a slash.
func isIn(name refs.Name, folder string) bool { return strings.HasPrefix(string(name), folder) }

// trackedRun returns the ref component of a run if name is the tracking ref of the run's tip at a remote. ok is
// false for every other name.
func trackedRun(name refs.Name) (component string, ok bool) {
	parts := strings.Split(strings.TrimPrefix(string(name), refs.RemotesFolder), "/")
	return parts[len(parts)-1], isIn(name, refs.RemotesFolder) && len(parts) == 2
}

// refAt returns the value of the ref name, or the zero id if the ref is missing.
func refAt(ctx context.Context, store *timeline.Store, name refs.Name) (objstore.ID, error) {
	id, err := store.Refs().Resolve(ctx, name)
	if errors.Is(err, refs.ErrNotFound) {
		return objstore.ID{}, nil
	}
	return id, err
}
