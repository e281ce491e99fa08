package land

import (
	"errors"
	"path"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// checkNames checks that no folder that the tree to has, and the tree from has not, has two entries of the same name. git writes
// no such folder, but a fetched frame can have one, and a commit with it is refused by other repositories. Folders that are
// not here are left to git. Code: land_refused.
func checkNames(s *timeline.Store, from, to objstore.ID) error {
	return (&doubled{s: s, seen: map[objstore.ID]bool{}}).check("", from, to)
}

// doubled looks for folders with two entries of the same name.
type doubled struct {
	s    *timeline.Store
	seen map[objstore.ID]bool // so that a folder that is everywhere is read once
}

// check checks the folder at dir. from is the folder before, or zero.
func (d *doubled) check(dir string, from, to objstore.ID) error {
	if from == to || d.seen[to] {
		return nil
	}
	d.seen[to] = true
	entries, err := objstore.ReadForeignTree(d.s.Objects(), to)
	if errors.Is(err, objstore.ErrNotFound) {
		return nil
	}
	if err != nil {
		return timeline.Explain(err)
	}
	before := make(map[string]objstore.ID) // the folders
	if !from.IsZero() {
		known, err := objstore.ReadForeignTree(d.s.Objects(), from)
		if err != nil && !errors.Is(err, objstore.ErrNotFound) {
			return timeline.Explain(err)
		}
		for _, e := range known {
			if e.Mode == objstore.ModeTree {
				before[e.Name] = e.ID
			}
		}
	}
	names := make(map[string]bool, len(entries))
	for _, e := range entries {
		name := path.Join(dir, e.Name)
		if names[e.Name] {
			return fault.New(fault.LandRefused, "nothing was landed: %s: the frame has two files of this name", name)
		}
		names[e.Name] = true
		if e.Mode != objstore.ModeTree {
			continue
		}
		if err := d.check(name, before[e.Name], e.ID); err != nil {
			return err
		}
	}
	return nil
}
