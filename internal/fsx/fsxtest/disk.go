package fsxtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"
)

// Cut decides what is left of a [Disk] after the power is cut.
type Cut string

// The kinds of cuts. An fsync of a file makes its bytes durable; an fsync of a folder makes the
// names in it durable. Nothing else is durable, and no file system promises more.
const (
	// Everything is left: only the process died.
	Everything Cut = "everything"
	// Durable leaves only what an fsync has made durable.
	Durable Cut = "durable"
	// Names also leaves every change of names. Files are empty if their bytes were not durable yet.
	Names Cut = "names"
	// Removals leaves what is durable, without files that were removed since.
	Removals Cut = "removals"
)

// Cuts returns all kinds of cuts.
func Cuts() []Cut { return []Cut{Everything, Durable, Names, Removals} }

// Disk is files and folders, as they are and as far as they are durable.
type Disk struct {
	folders map[string]*folder // by path; the root is "."
	open    map[int]*inode     // by number
}

type folder struct {
	names, durable map[string]*inode
	removed        []string // since the last fsync, without renamed files
}

// inode is a file or, if folder is set, a folder.
type inode struct {
	folder        bool
	data, durable []byte
}

// Replay yields the empty disk, and the disk after each [Op] with that Op. Ops for which skip
// returns true are yielded, but not done; skip may be nil. A yielded disk is valid until the next.
func (f *FS) Replay(skip func(Op) bool) iter.Seq2[Op, *Disk] {
	return func(yield func(Op, *Disk) bool) {
		disk := f.start.clone()
		if !yield(Op{}, disk) {
			return
		}
		for _, op := range f.Ops() {
			if skip == nil || !skip(op) {
				disk.apply(op)
			}
			if !yield(op, disk) {
				return
			}
		}
	}
}

// Now returns the disk after all ops.
func (f *FS) Now() *Disk {
	disk := f.start.clone()
	for _, op := range f.Ops() {
		disk.apply(op)
	}
	return disk
}

// readDisk returns a disk with the content of a folder, all of it durable.
func readDisk(root string) (*Disk, error) {
	d := &Disk{folders: make(map[string]*folder), open: make(map[int]*inode)}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		node := &inode{folder: entry.IsDir()}
		switch {
		case node.folder:
			d.folders[rel] = &folder{names: make(map[string]*inode), durable: make(map[string]*inode)}
		case entry.Type().IsRegular():
			if node.data, err = os.ReadFile(name); err != nil {
				return err
			}
			node.durable = node.data
		default:
			return fmt.Errorf("fsxtest: %s is neither a file nor a folder", rel)
		}
		if rel != "." {
			above := d.folders[path.Dir(rel)]
			above.names[path.Base(rel)], above.durable[path.Base(rel)] = node, node
		}
		return nil
	})
	return d, err
}

// clone copies the disk and its folders. Files are shared, because only files that are made later
// change.
func (d *Disk) clone() *Disk {
	out := &Disk{folders: make(map[string]*folder), open: make(map[int]*inode)}
	for name, f := range d.folders {
		out.folders[name] = &folder{names: maps.Clone(f.names), durable: maps.Clone(f.durable)}
	}
	return out
}

// apply repeats an op of an FS. It cannot fail, because the op did not.
func (d *Disk) apply(op Op) {
	switch op.Kind {
	case Create:
		d.open[op.file] = &inode{}
		d.name(op.Path, d.open[op.file])
	case Write:
		node := d.open[op.file]
		if short := op.offset + int64(len(op.data)) - int64(len(node.data)); short > 0 {
			node.data = append(node.data, make([]byte, short)...)
		}
		copy(node.data[op.offset:], op.data)
	case Sync:
		node := d.open[op.file]
		node.durable = bytes.Clone(node.data)
	case Rename:
		d.name(op.To, d.at(op.Path))
		delete(d.folders[path.Dir(op.Path)].names, path.Base(op.Path))
	case Link:
		d.name(op.To, d.at(op.Path))
	case Remove:
		f, name := d.folders[path.Dir(op.Path)], path.Base(op.Path)
		delete(f.names, name)
		f.removed = append(f.removed, name)
	case Mkdir:
		d.mkdir(op.Path)
	case SyncDir:
		f := d.folders[op.Path]
		f.durable, f.removed = maps.Clone(f.names), nil
	case Mark:
	}
}

func (d *Disk) at(name string) *inode { return d.folders[path.Dir(name)].names[path.Base(name)] }

func (d *Disk) name(name string, node *inode) {
	d.folders[path.Dir(name)].names[path.Base(name)] = node
}

func (d *Disk) mkdir(name string) {
	if d.folders[name] != nil {
		return
	}
	d.mkdir(path.Dir(name))
	d.folders[name] = &folder{names: make(map[string]*inode), durable: make(map[string]*inode)}
	d.name(name, &inode{folder: true})
}

// WriteTo writes what is left after a cut into the folder dir, which it makes.
func (d *Disk) WriteTo(dir string, cut Cut) error { return d.writeFolder(".", dir, cut) }

func (d *Disk) writeFolder(name, dir string, cut Cut) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for child, node := range d.folders[name].left(cut) {
		at := filepath.Join(dir, child)
		var err error
		if node.folder {
			err = d.writeFolder(path.Join(name, child), at, cut)
		} else {
			err = writeDated(at, node.left(cut))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeDated writes a file and dates it a minute ago, before the power was cut.
func writeDated(path string, data []byte) error {
	changed := time.Now().Add(-time.Minute)
	return errors.Join(os.WriteFile(path, data, 0o666), os.Chtimes(path, changed, changed))
}

// left returns the names in a folder after a cut.
func (f *folder) left(cut Cut) map[string]*inode {
	switch cut {
	case Durable:
		return f.durable
	case Removals:
		left := maps.Clone(f.durable)
		for _, name := range f.removed {
			delete(left, name)
		}
		return left
	case Everything, Names:
	}
	return f.names
}

// Sum returns a hash of everything that is left after a cut. If two sums are equal, WriteTo writes
// the same files. A test computes hundreds of sums, so the hash is a fast one.
func (d *Disk) Sum(cut Cut) uint64 {
	sum := xxhash.New()
	d.sumFolder(".", cut, sum)
	return sum.Sum64()
}

func (d *Disk) sumFolder(name string, cut Cut, sum io.Writer) {
	left := d.folders[name].left(cut)
	for _, child := range slices.Sorted(maps.Keys(left)) {
		node, at := left[child], path.Join(name, child)
		data := node.left(cut)
		_, _ = fmt.Fprintf(sum, "%q %t %d\n%s", at, node.folder, len(data), data) // writing to a hash does not fail
		if node.folder {
			d.sumFolder(at, cut, sum)
		}
	}
}

// left returns the bytes of a file after a cut.
func (n *inode) left(cut Cut) []byte {
	if cut == Everything {
		return n.data
	}
	return n.durable
}
