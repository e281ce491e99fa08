package fsxtest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/git-smithers/git-smithers/internal/fsx"
)

// FS writes to the real file system below a folder and records each op. It is safe for concurrent use:
// it does one op at a time, in the order of the records.
type FS struct {
	root  string
	start *Disk

	mu   sync.Mutex
	ops  []Op
	last int            // number of the newest file
	fail func(Op) Fault // see Fail; nil means that no op fails
}

var _ fsx.FS = (*FS)(nil)

// Fault determines how an op fails. The zero Fault lets the op succeed.
type Fault struct {
	// Err is the cause of the error that the op returns. The op is not done.
	Err error
	// Short makes a write with an Err write half of its bytes.
	Short bool
	// Flip makes a write flip one bit, without an error.
	Flip bool
}

// New returns an FS for the folder root. The present content of root counts as durable. New ends the
// test if root cannot be read.
func New(t testing.TB, root string) *FS {
	t.Helper()
	start, err := readDisk(root)
	if err != nil {
		t.Fatal(err)
	}
	return &FS{root: root, start: start}
}

// Fail makes the function fail decide which later ops fail. The FS calls fail once for each Op, before
// the Op. A nil fail lets every op succeed.
func (f *FS) Fail(fail func(Op) Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = fail
}

// Mark records an event of the test as an Op, for example that a frame was acknowledged. text becomes
// the Path.
func (f *FS) Mark(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ops = append(f.ops, Op{Kind: Mark, Path: text})
}

// Ops returns the ops so far in their order. It leaves out ops that failed, but not the part of a
// failed write that was written.
func (f *FS) Ops() []Op {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clip(f.ops)
}

// do calls really to do op, and records op. If the fault for op has an Err, do returns this error
// instead and records nothing. The caller holds f.mu.
func (f *FS) do(op Op, really func() error) error {
	if f.fail != nil {
		if fault := f.fail(op); fault.Err != nil {
			return &fs.PathError{Op: string(op.Kind), Path: filepath.Join(f.root, op.Path), Err: fault.Err}
		}
	}
	if err := really(); err != nil {
		return err
	}
	f.ops = append(f.ops, op)
	return nil
}

// rel returns path relative to the root and with slashes. A path outside of the root is an error.
func (f *FS) rel(path string) (string, error) {
	rel, err := filepath.Rel(f.root, path)
	if err == nil && !filepath.IsLocal(rel) {
		err = fmt.Errorf("fsxtest: %s is outside of %s", path, f.root)
	}
	return filepath.ToSlash(rel), err
}

// OpenFile implements fsx.FS. It creates a file if flag includes O_CREATE and O_EXCL. With O_WRONLY alone, it opens a file that is
// there. No other flags are supported.
func (f *FS) OpenFile(path string, flag int, perm fs.FileMode) (fsx.File, error) {
	kind := Create
	if flag == os.O_WRONLY {
		kind = Open
	} else if flag&(os.O_CREATE|os.O_EXCL) != os.O_CREATE|os.O_EXCL {
		return nil, fmt.Errorf("fsxtest: %s is opened for writing without being created", path)
	}
	rel, err := f.rel(path)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	out := &file{fs: f, path: rel, number: f.last + 1}
	err = f.do(Op{Kind: kind, Path: rel, file: out.number}, func() (err error) {
		out.real, err = os.OpenFile(path, flag, perm)
		return err
	})
	if err != nil {
		return nil, err
	}
	f.last++
	return out, nil
}

// Rename implements fsx.FS.
func (f *FS) Rename(from, to string) error { return f.two(Rename, from, to, os.Rename) }

// Link implements fsx.FS.
func (f *FS) Link(from, to string) error { return f.two(Link, from, to, os.Link) }

// two calls really and records it as an op of the given kind with two paths.
func (f *FS) two(kind Kind, from, to string, really func(from, to string) error) error {
	relFrom, err1 := f.rel(from)
	relTo, err2 := f.rel(to)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.do(Op{Kind: kind, Path: relFrom, To: relTo}, func() error { return really(from, to) })
}

// Remove implements fsx.FS.
func (f *FS) Remove(path string) error { return f.one(Remove, path, os.Remove) }

// MkdirAll implements fsx.FS.
func (f *FS) MkdirAll(path string, perm fs.FileMode) error {
	return f.one(Mkdir, path, func(path string) error { return os.MkdirAll(path, perm) })
}

// Date implements fsx.FS. It records no op, because a time is not content.
func (f *FS) Date(path string, changed time.Time) error { return os.Chtimes(path, changed, changed) }

// SyncDir implements fsx.FS.
func (f *FS) SyncDir(path string) error { return f.one(SyncDir, path, fsx.SyncDir) }

// one calls really and records it as an op of the given kind with one path.
func (f *FS) one(kind Kind, path string, really func(path string) error) error {
	rel, err := f.rel(path)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.do(Op{Kind: kind, Path: rel}, func() error { return really(path) })
}
