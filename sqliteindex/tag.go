package sqliteindex

import (
	"errors"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// tag is what a frame's vcs.json says beyond the summary in its commit.
type tag struct {
	root, operation string
	tree            objstore.ID // of the captured files; zero for none
}

// tagReader reads the tags of the entries of a chain, from the newest down. Neighbours
// mostly have one vcs.json, which names the first frame that has it: so it reads an
// entry's tree only where that may have changed, and vcs.json only where it has.
type tagReader struct {
	id    objstore.ID // of the vcs.json that was read last; zero: none
	at    *snapshot.Entry
	since int64 // frame that vcs.json names
	tag   tag
}

// of is the tag of an entry. One that cannot be read is none: no reason for the
// frame to be missing from the index.
func (t *tagReader) of(e *snapshot.Entry) (tag, error) {
	if e.VCS == "" {
		return tag{}, nil
	}
	// The frame that vcs.json names may itself have another one, and an entry that is
	// not a frame this one.
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
