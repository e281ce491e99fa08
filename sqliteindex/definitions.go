package sqliteindex

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// workflowSet is a set of workflow definitions, by the ids of their trees.
type workflowSet map[objstore.ID]struct{}

// add adds the workflow definition of e. It does nothing if e has none.
func (w workflowSet) add(e *snapshot.Entry) error {
	id, err := e.WorkflowID()
	if err == nil && !id.IsZero() {
		w[id] = struct{}{}
	}
	return err
}

// addAll adds the workflow definitions with the given tree ids.
func (w workflowSet) addAll(ids []objstore.ID) {
	for _, id := range ids {
		w[id] = struct{}{}
	}
}

// addChain adds the workflow definitions of e and of all entries before e.
func (w workflowSet) addChain(ctx context.Context, r objstore.Reader, e *snapshot.Entry) error {
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := w.add(e); err != nil || e.Parent.IsZero() {
			return err
		}
		var err error
		if e, err = snapshot.ReadEntry(r, e.Parent); err != nil {
			return err
		}
	}
}

// sorted returns the ids of all definitions in w, sorted.
func (w workflowSet) sorted() []objstore.ID {
	return slices.SortedFunc(maps.Keys(w), objstore.ID.Compare)
}

// text returns the ids of all definitions in w as one text, separated by spaces. parseDefinitions parses it.
func (w workflowSet) text() string {
	var words []string
	for _, id := range w.sorted() {
		words = append(words, id.String())
	}
	return strings.Join(words, " ")
}

// parseDefinitions returns the ids in a text that workflowSet.text returned.
func parseDefinitions(text string) (ids []objstore.ID, err error) {
	for word := range strings.FieldsSeq(text) {
		id, err := objstore.ParseID(word)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}
