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

// Cut determines the content of a [Disk] after a power cut.
type Cut string

// The kinds of cuts. An fsync of a file makes its bytes durable; an fsync of a folder makes the
// names in the folder durable. No file system promises more.
const (
	// Everything keeps all content, as if only the process died.
	Everything Cut = "everything"
	// Durable keeps only the bytes and the names that an fsync has made durable.
	Durable Cut = "durable"
	// Names keeps durable bytes and every change of names. A file without durable bytes is empty.
	Names Cut = "names"
	// Removals keeps what Durable keeps, except files that were removed since the last fsync of their
	// folder.
	Removals Cut = "removals"
)

// Cuts returns all kinds of cuts.
func Cuts() []Cut { return []Cut{Everything, Durable, Names, Removals} }

// Disk is a tree of files and folders, with their present content and their durable content.
type Disk struct {
	folders map[string]*folder // by path; the root is "."
	open    map[int]*inode     // the files of Create and Open ops, by the number of the op's file
}

// folder is the content of one folder.
type folder struct {
	names, durable map[string]*inode // the present names and the durable names
	removed        []string          // names removed since the last fsync, without those of renamed files
}

// inode is a file, or a folder if folder is true.
type inode struct {
	folder        bool
	data, durable []byte // the present bytes and the durable bytes of a file
}

// Replay yields the disk as it was at the start with a zero [Op], and then the disk after each Op with
// this Op. It yields an Op for which skip returns true, but does not apply the Op to the disk. skip may
// be nil. A yielded disk is valid until the next one is yielded.
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

// Now returns a new Disk on which all ops so far were applied.
func (f *FS) Now() *Disk {
	disk := f.start.clone()
	for _, op := range f.Ops() {
		disk.apply(op)
	}
	return disk
}

// readDisk returns a Disk with the content of the folder root. All content counts as durable. It
// returns an error if root has anything but files and folders.
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

// clone returns a copy of the disk with its own folders. The copy shares the files: an Open op copies the file that it changes.
func (d *Disk) clone() *Disk {
	out := &Disk{folders: make(map[string]*folder), open: make(map[int]*inode)}
	for name, f := range d.folders {
		out.folders[name] = &folder{names: maps.Clone(f.names), durable: maps.Clone(f.durable)}
	}
	return out
}

// apply repeats on the disk an op that an FS has done. It panics if the op does not fit the disk.
func (d *Disk) apply(op Op) {
	switch op.Kind {
	case Create:
		d.open[op.file] = &inode{}
		d.name(op.Path, d.open[op.file])
	case Open:
		d.open[op.file] = d.own(d.at(op.Path))
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

// own returns the file node, if it was created or opened since the start. Otherwise it replaces node by a copy, which it returns.
func (d *Disk) own(node *inode) *inode {
	for _, open := range d.open {
		if open == node {
			return node
		}
	}
	mine := &inode{data: bytes.Clone(node.data), durable: bytes.Clone(node.durable)}
	for _, f := range d.folders {
		for _, names := range []map[string]*inode{f.names, f.durable} {
			for name, at := range names {
				if at == node {
					names[name] = mine
				}
			}
		}
	}
	return mine
}

// at returns the file or folder at a path, or nil if its folder has no such name.
func (d *Disk) at(name string) *inode { return d.folders[path.Dir(name)].names[path.Base(name)] }

// name makes node the file or folder at a path; name is the path.
func (d *Disk) name(name string, node *inode) {
	d.folders[path.Dir(name)].names[path.Base(name)] = node
}

// mkdir creates a folder and the folders above it, if they are missing. name is the path of the folder.
func (d *Disk) mkdir(name string) {
	if d.folders[name] != nil {
		return
	}
	d.mkdir(path.Dir(name))
	d.folders[name] = &folder{names: make(map[string]*inode), durable: make(map[string]*inode)}
	d.name(name, &inode{folder: true})
}

// WriteTo writes the content that remains after a cut into the folder dir. It creates dir. The names of a file are hard links.
func (d *Disk) WriteTo(dir string, cut Cut) error {
	return d.writeFolder(".", dir, cut, make(map[*inode]string))
}

// writeFolder writes the content of one folder that remains after a cut into dir. name is the path of the
// folder on the disk. written has the paths of the files that are written already.
func (d *Disk) writeFolder(name, dir string, cut Cut, written map[*inode]string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for child, node := range d.folders[name].left(cut) {
		at := filepath.Join(dir, child)
		var err error
		if first := written[node]; node.folder {
			err = d.writeFolder(path.Join(name, child), at, cut, written)
		} else if first != "" {
			err = os.Link(first, at)
		} else {
			written[node] = at
			err = writeDated(at, node.left(cut))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeDated writes a file with a modification time one minute in the past, before the power cut.
func writeDated(path string, data []byte) error {
	changed := time.Now().Add(-time.Minute)
	return errors.Join(os.WriteFile(path, data, 0o666), os.Chtimes(path, changed, changed))
}

// left returns the names that remain in the folder after a cut.
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

// Sum returns a hash of all content that remains after a cut. If two sums are equal, WriteTo writes the
// same files. The hash function is fast, because a test computes hundreds of sums.
func (d *Disk) Sum(cut Cut) uint64 {
	sum := xxhash.New()
	d.sumFolder(".", cut, sum)
	return sum.Sum64()
}

// sumFolder adds to sum the content of one folder that remains after a cut. name is the path of the folder.
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

// left returns the bytes of a file that remain after a cut.
func (n *inode) left(cut Cut) []byte {
	if cut == Everything {
		return n.data
	}
	return n.durable
}
