package fsxtest

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/git-smithers/git-smithers/internal/fsx"
)

// file is an open file of an FS.
type file struct {
	fs     *FS
	real   *os.File
	path   string // path below the root at which the file was created
	number int    // identifies the file in ops
	at     int64  // offset of the next Write; guarded by fs.mu
}

var _ fsx.File = (*file)(nil)

// Write implements io.Writer.
func (f *file) Write(data []byte) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	n, err := f.write(data, f.at)
	f.at += int64(n)
	return n, err
}

// WriteAt implements io.WriterAt.
func (f *file) WriteAt(data []byte, offset int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	return f.write(data, offset)
}

// write writes data at offset and records the bytes that it wrote. fs.fail may make it write less,
// write a wrong bit, or fail. The caller holds fs.mu.
func (f *file) write(data []byte, offset int64) (int, error) {
	op := Op{Kind: Write, Path: f.path, file: f.number, offset: offset, data: bytes.Clone(data)}
	var fault Fault
	if f.fs.fail != nil {
		fault = f.fs.fail(op)
	}
	if fault.Err != nil {
		op.data = op.data[:0]
		if fault.Short {
			op.data = bytes.Clone(data[:len(data)/2])
		}
	}
	if fault.Flip && len(op.data) > 0 {
		op.data[len(op.data)/2] ^= 1
	}
	n, err := f.real.WriteAt(op.data, offset)
	if err != nil {
		return n, err
	}
	if n > 0 {
		f.fs.ops = append(f.fs.ops, op)
	}
	if fault.Err != nil {
		return n, &fs.PathError{Op: string(Write), Path: f.Name(), Err: fault.Err}
	}
	return n, nil
}

// Name implements fsx.File.
func (f *file) Name() string { return filepath.Join(f.fs.root, f.path) }

// Stat implements fsx.File.
func (f *file) Stat() (fs.FileInfo, error) { return f.real.Stat() }

// Sync implements fsx.File.
func (f *file) Sync() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	return f.fs.do(Op{Kind: Sync, Path: f.path, file: f.number}, f.real.Sync)
}

// Close implements fsx.File.
func (f *file) Close() error { return f.real.Close() }
