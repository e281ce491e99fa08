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

// access is the way in which SQLite opens a file.
type access string

const (
	locked access = "mode=ro"
	// For a log with its shared memory, read only. A reader that may write the shared memory would create it anew if
	// no other process has the database open. An engine that opens the database at that moment would fail at once,
	// because Smithers sets its lock timeout only after its first look at the database.
	logged access = "mode=ro&readonly_shm=1"
	// Without locks, log and shared memory. SQLite would otherwise create them beside a database that has none.
	unlocked access = "mode=ro&immutable=1"
	// For a log without shared memory: no process has the database open, and reading the log would create the shared
	// memory beside it.
	copied access = "copy"
)

// The fields of a database's header that describe how it is written.
const (
	headerSize   = 100
	magic        = "SQLite format 3\x00"
	pageSize     = 16 // two bytes
	writeVersion = 18 // 2 if there may be a write-ahead log
	changes      = 24 // four bytes
	pageCount    = 28 // four bytes
	countedAt    = 92 // the value of changes when the pages were counted
	// The header of a write-ahead log. Frames follow it.
	logHeaderSize = 32
	logMagic      = 0x377f0682 // or with the last bit set
	logPageSize   = 8          // four bytes
	// The header of the shared memory of a write-ahead log. It counts the commits.
	indexHeaderSize = 48
)

// file is a database file, with the files that SQLite keeps beside it.
type file struct{ path string }

// locate resolves links to the file itself, because SQLite derives the names of its other files from the resolved
// name.
func locate(path string) (file, error) {
	resolved, err := filepath.EvalSymlinks(path)
	return file{resolved}, err
}

func (f file) log() string    { return f.path + "-wal" }
func (f file) shared() string { return f.path + "-shm" }

// header reads the header. The result is shorter if the file is.
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

// head reads the beginning of a file. It returns nothing if the file does not exist.
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

// stat returns information about a path, or nil if it cannot be read.
func stat(path string) fs.FileInfo {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	return info
}

// access chooses how to read the file in its present state.
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

// isLog reports whether a log with this beginning can have data of the database. For an invalid log that no process
// has open, SQLite would retry for ten seconds if it must not create the shared memory.
func isLog(start []byte) bool {
	if len(start) <= logHeaderSize {
		return false
	}
	size := binary.BigEndian.Uint32(start[logPageSize:])
	return binary.BigEndian.Uint32(start)&^1 == logMagic && size >= 512 && size <= 1<<16 && size&(size-1) == 0
}

// isCut reports whether a file with only these bytes may be the beginning of a database.
func isCut(header []byte) bool {
	n := min(len(header), len(magic))
	return 0 < n && len(header) < headerSize && string(header[:n]) == magic[:n]
}

// name returns the URI with which SQLite opens the file, with options of the driver.
func (f file) name(options string) string {
	return "file:" + (&url.URL{Path: f.path}).EscapedPath() + "?" + options
}

// state describes the files of a database without a lock on them. It must not be taken while this process holds locks
// on the file, because closing the file releases them.
type state struct {
	header string
	index  string // the part of the shared memory that changes with each commit
	file   fs.FileInfo
	log    fs.FileInfo // nil if there is no log
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

// same reports whether no process has committed between two states.
func (s state) same(as state) bool {
	return s.sameFile(as) && s.index == as.index && sameFile(s.log, as.log)
}

// sameFile reports whether no process has written to the file itself between two states. It ignores the log.
func (s state) sameFile(as state) bool { return s.header == as.header && sameFile(s.file, as.file) }

// lacksEnd reports whether the file is shorter than its header says. With a log this can be valid, because the log
// may have the rest.
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

// sameFile reports whether two files are the same file, with the same size and time.
func sameFile(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && os.SameFile(a, b)
}
