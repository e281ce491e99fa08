package sqliteindex

import (
	"errors"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// tag is what a frame's vcs.json adds to the summary in its commit.
type tag struct {
	root, operation string
	tree            objstore.ID // of the captured files; zero if there is none
}

// tagReader reads the tags of a chain's entries, newest first. Neighbours
// usually share a vcs.json, which names its first frame. So tagReader reads an
// entry's tree only if vcs.json may have changed, and vcs.json only if it has.
type tagReader struct {
	id    objstore.ID // of the last vcs.json; zero means none
	at    *snapshot.Entry
	since int64 // the frame that vcs.json names
	tag   tag
}

// of returns the tag of an entry. If it cannot be read, the tag is empty, so that the frame stays in
// the index.
func (t *tagReader) of(e *snapshot.Entry) (tag, error) {
	if e.VCS == "" {
		return tag{}, nil
	}
	// The frame that vcs.json names may have another vcs.json itself, and an unnumbered entry
	// this one.
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

// read reads the tag of an entry.
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
		return nil
	}
	*t = tagReader{id: id, at: e, since: vcs.Frame, tag: tag{vcs.Root, vcs.Operation, vcs.Tree}}
	return nil
}
