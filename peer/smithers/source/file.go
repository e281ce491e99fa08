package source

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
)

// access is how SQLite is asked to open a file.
type access string

const (
	locked access = "mode=ro"
	// For a log with its shared memory, which is only read: whoever may write to it makes it anew where nobody else
	// has the database open, and an engine that opens the database at that moment gives up at once, as Smithers looks
	// at a database before it says how long it waits for locks.
	logged access = "mode=ro&readonly_shm=1"
	// Without locks, and without the log and the shared memory, which SQLite would make beside a
	// database that has none.
	unlocked access = "mode=ro&immutable=1"
	// For a log without shared memory: nobody has the database open, and reading the log
	// would make the shared memory beside it.
	copied access = "copy"
)

// The places of a database's header that say how it is written.
const (
	headerSize   = 100
	magic        = "SQLite format 3\x00"
	pageSize     = 16 // two bytes
	writeVersion = 18 // 2 where there may be a write-ahead log
	changes      = 24 // four bytes
	pageCount    = 28 // four bytes
	countedAt    = 92 // what changes was when the pages were counted
	// The header of a write-ahead log, which frames follow.
	logHeaderSize = 32
	logMagic      = 0x377f0682 // or with the last bit set
	logPageSize   = 8          // four bytes
	// What the shared memory of a write-ahead log begins with: it counts the commits.
	indexHeaderSize = 48
)

// file is a database's file and those that SQLite keeps beside it.
type file struct{ path string }

// locate finds the file itself, which is what SQLite's names for its other files start with.
func locate(path string) (file, error) {
	resolved, err := filepath.EvalSymlinks(path)
	return file{resolved}, err
}

func (f file) log() string    { return f.path + "-wal" }
func (f file) shared() string { return f.path + "-shm" }

// header reads the header; it is shorter where the file is.
func (f file) header() ([]byte, error) {
	info, err := os.Stat(f.path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: not a file", ErrNotDatabase)
	}
	return head(f.path, headerSize)
}

// head reads the beginning of a file, nothing of one that is not there.
func head(path string, size int64) ([]byte, error) {
	from, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer from.Close() //nolint:errcheck // only read
	return io.ReadAll(io.LimitReader(from, size))
}

// stat is what is at a path; nil for nothing that can be seen.
func stat(path string) fs.FileInfo {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	return info
}

// access chooses how to read the file as it is now.
func (f file) access() (access, error) {
	header, err := f.header()
	if err != nil {
		return "", err
	}
	switch {
	case len(header) == 0:
		return "", fmt.Errorf("%w: it is empty", ErrNotSmithers)
	case isCut(header):
		return "", ErrIncomplete
	case len(header) < headerSize || !bytes.HasPrefix(header, []byte(magic)):
		return "", ErrNotDatabase
	case header[writeVersion] != 2:
		return locked, nil
	}
	log, shared := stat(f.log()), stat(f.shared())
	switch {
	case log == nil || log.Size() == 0 && shared == nil:
		return unlocked, nil
	case shared == nil:
		return copied, nil
	case log.Size() == 0:
		return logged, nil
	}
	start, err := head(f.log(), logHeaderSize+1)
	if err != nil {
		return "", err
	}
	if !isLog(start) {
		return unlocked, nil
	}
	return logged, nil
}

// isLog reports whether a log that starts like this can have something of the database. Where it cannot, and nobody has the
// database open, SQLite looks at the log again and again for ten seconds if it may not make the shared memory.
func isLog(start []byte) bool {
	if len(start) <= logHeaderSize {
		return false
	}
	size := binary.BigEndian.Uint32(start[logPageSize:])
	return binary.BigEndian.Uint32(start)&^1 == logMagic && size >= 512 && size <= 1<<16 && size&(size-1) == 0
}

// isCut reports whether a file that has no more than this can become a database.
func isCut(header []byte) bool {
	n := min(len(header), len(magic))
	return 0 < n && len(header) < headerSize && string(header[:n]) == magic[:n]
}

// name is what SQLite is asked to open, with options of the driver.
func (f file) name(options string) string {
	return "file:" + (&url.URL{Path: f.path}).EscapedPath() + "?" + options
}

// state is how a database looks from outside, without a lock. Closing a file gives up the
// locks that the process has on it, so there must be none when it is taken.
type state struct {
	header string
	index  string // what of the shared memory changes with each commit
	file   fs.FileInfo
	log    fs.FileInfo // nil for none
}

func (f file) state() (state, error) {
	header, err := f.header()
	if err != nil {
		return state{}, err
	}
	info, err := os.Stat(f.path)
	if err != nil {
		return state{}, err
	}
	index, err := head(f.shared(), indexHeaderSize)
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return state{}, err
	}
	return state{string(header), string(index), info, stat(f.log())}, nil
}

// same reports whether nobody has committed in between.
func (s state) same(as state) bool {
	return s.sameFile(as) && s.index == as.index && sameFile(s.log, as.log)
}

// sameFile reports whether nobody has written to the file itself, whatever is in its log.
func (s state) sameFile(as state) bool { return s.header == as.header && sameFile(s.file, as.file) }

// lacksEnd reports whether the file is shorter than its header says. It may be where its log has the rest.
func (s state) lacksEnd() bool {
	h := []byte(s.header)
	if len(h) < headerSize {
		return isCut(h)
	}
	if !bytes.HasPrefix(h, []byte(magic)) || !bytes.Equal(h[changes:changes+4], h[countedAt:countedAt+4]) {
		return false
	}
	size := int64(binary.BigEndian.Uint16(h[pageSize:]))
	if size == 1 {
		size = 1 << 16
	}
	return s.file.Size() < size*int64(binary.BigEndian.Uint32(h[pageCount:]))
}

func sameFile(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && os.SameFile(a, b)
}
