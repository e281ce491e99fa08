package verify

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
)

// step is an object that Reached must visit.
type step struct {
	id   objstore.ID
	kind objstore.Kind // the kind that the object must have
}

// Reached returns the objects that tips reach, and those of them that are missing or corrupt, sorted by id. It cannot find the objects
// that only a lost object refers to. Reached follows commits of git-smithers only: it has a commit of the user's that
// an entry names, but not the objects that the commit refers to. Without blobs, it reads no blob, so lost has no blob.
func Reached(ctx context.Context, objects objstore.Reader, blobs bool, tips ...objstore.ID) (reached map[objstore.ID]bool, lost []objstore.ID, err error) {
	reached = make(map[objstore.ID]bool)
	var left []step
	for _, tip := range tips {
		left = append(left, step{tip, objstore.Commit})
	}
	for len(left) > 0 {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		next := left[len(left)-1]
		left = left[:len(left)-1]
		if reached[next.id] {
			continue
		}
		reached[next.id] = true
		if next.kind == objstore.Blob && !blobs {
			continue
		}
		data, err := objstore.GetKind(objects, next.id, next.kind)
		if errors.Is(err, objstore.ErrNotFound) || errors.Is(err, objstore.ErrCorrupt) {
			lost = append(lost, next.id)
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		left = append(left, below(next, data)...)
	}
	slices.SortFunc(lost, objstore.ID.Compare)
	return reached, lost, nil
}

// Needed returns the objects that the sound refs in found need.
func Needed(ctx context.Context, objects objstore.Reader, found *refs.Inventory) (map[objstore.ID]bool, error) {
	var tips []objstore.ID
	for _, item := range found.Items {
		if item.Broken == nil {
			tips = append(tips, item.ID)
		}
	}
	needed, _, err := Reached(ctx, objects, false, tips...)
	return needed, err
}

// below returns the objects to which an object refers. data is the object's content. A blob refers to no object.
func below(object step, data []byte) []step {
	if object.kind == objstore.Tree {
		return belowTree(object.id, data)
	}
	if object.kind == objstore.Commit {
		return belowCommit(data)
	}
	return nil
}

// belowTree returns the objects that the tree id refers to, without the commits of submodules: this
// repository does not have them. It returns nil for an invalid tree.
func belowTree(id objstore.ID, data []byte) []step {
	entries, err := objstore.DecodeForeignTree(id, data)
	if err != nil {
		return nil // verify reports flaws in existing objects
	}
	var out []step
	for _, e := range entries {
		switch e.Mode {
		case objstore.ModeCommit: // a submodule's commit
		case objstore.ModeTree:
			out = append(out, step{e.ID, objstore.Tree})
		default:
			out = append(out, step{e.ID, objstore.Blob})
		}
	}
	return out
}

// belowCommit returns the tree and the parents of a commit by git-smithers. It returns nil for a commit of
// the user's.
func belowCommit(data []byte) []step {
	headers, _, _ := bytes.Cut(data, []byte("\n\n"))
	if !bytes.Contains(headers, []byte("\nauthor "+objstore.Author+" ")) {
		return nil
	}
	var out []step
	for line := range bytes.Lines(headers) {
		name, value, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
		id, err := objstore.ParseID(string(value))
		if err != nil {
			continue
		}
		switch string(name) {
		case "tree":
			out = append(out, step{id, objstore.Tree})
		case "parent":
			out = append(out, step{id, objstore.Commit})
		}
	}
	return out
}
