package sqliteindex

import (
	"errors"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// tag holds the fields of a frame's vcs.json that the frame's commit message lacks.
type tag struct {
	root, operation string
	tree            objstore.ID // the tree of the captured files; zero if no files were captured
}

// tagReader reads the tags of a chain's entries, newest first. Neighbours usually share a vcs.json, and
// vcs.json names the first frame that has it. So tagReader reads an entry's tree only if vcs.json may differ
// from the last vcs.json, and reads vcs.json only if it does differ.
type tagReader struct {
	id    objstore.ID     // the id of the last vcs.json; zero before the first
	at    *snapshot.Entry // the entry at which the last vcs.json was read
	since int64           // the frame that the last vcs.json names
	tag   tag             // the tag from the last vcs.json
}

// of returns the tag of an entry. The tag is empty if the entry has no working copy. It is also empty if vcs.json is
// corrupt, missing or of a newer format, so that the frame stays in the index. If t already knows that the entry has
// the same vcs.json as t.at, of does not read the entry's tree.
func (t *tagReader) of(e *snapshot.Entry) (tag, error) {
	if e.VCS == "" {
		return tag{}, nil
	}
	// Frames strictly between the named frame and t.at share the last vcs.json. The named frame itself may have
	// another vcs.json.
	if t.at != nil && e.Run == t.at.Run && e.VCS == t.at.VCS && e.Frame > t.since && e.Frame < t.at.Frame {
		return t.tag, nil
	}
	err := t.read(e)
	if errors.Is(err, objstore.ErrCorrupt) || errors.Is(err, objstore.ErrNotFound) || errors.Is(err, snapshot.ErrNewerFormat) {
		*t = tagReader{}
		return tag{}, nil
	}
	return t.tag, err
}

// read reads vcs.json of an entry into t. It leaves t unchanged if the entry has the same vcs.json as t, and
// empties t if the entry has no vcs.json.
func (t *tagReader) read(e *snapshot.Entry) error {
	id, err := e.VCSID()
	if err != nil || id == t.id {
		return err
	}
	vcs, err := e.VCSRevision()
	if err != nil {
		return err
	}
	if vcs == nil {
		*t = tagReader{}
		return nil
	}
	*t = tagReader{id: id, at: e, since: vcs.Frame, tag: tag{vcs.Root, vcs.Operation, vcs.Tree}}
	return nil
}
