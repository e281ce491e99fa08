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

// access is the way in which SQLite opens a file for reading.
type access string

const (
	// locked is for a database without a write-ahead log.
	locked access = "mode=ro"
	// logged is for a log with its shared memory. SQLite opens the shared memory read-only. Otherwise, if no other
	// process had the database open, SQLite would create the shared memory again. An engine that opens the database at
	// that moment would then fail, because Smithers sets its lock timeout only after its first look at the database.
	logged access = "mode=ro&readonly_shm=1"
	// unlocked is for a database in log mode without a usable log. SQLite then uses no lock, log or shared memory. In
	// any other mode, SQLite would create these files beside the database.
	unlocked access = "mode=ro&immutable=1"
	// copied is for a log without shared memory: no process has the database open. SQLite reads a copy of the files,
	// because reading the log would create the shared memory beside the database.
	copied access = "copy"
)

// The fields of a database's header that describe how it is written.
const (
	headerSize   = 100
	magic        = "SQLite format 3\x00"
	pageSize     = 16 // two bytes
	writeVersion = 18 // one byte: 2 if there may be a write-ahead log
	changes      = 24 // four bytes: the number of changes of the file
	pageCount    = 28 // four bytes
	countedAt    = 92 // the value of changes when the pages were counted
	// The header of a write-ahead log. The frames of the log follow the header.
	logHeaderSize = 32
	logMagic      = 0x377f0682 // the last bit may be set
	logPageSize   = 8          // four bytes
	// The header of the shared memory of a write-ahead log has a count of commits.
	indexHeaderSize = 48
)

// file is the path of a database file, without symbolic links. SQLite keeps further files beside it.
type file struct{ path string }

// locate returns the file at path, with all symbolic links resolved, because SQLite derives the names of its
// other files from the resolved name. If the file is missing, the error wraps fs.ErrNotExist.
func locate(path string) (file, error) {
	resolved, err := filepath.EvalSymlinks(path)
	return file{resolved}, err
}

// log returns the path of the write-ahead log, and shared the path of the log's shared memory. Neither file need exist.
func (f file) log() string    { return f.path + "-wal" }
func (f file) shared() string { return f.path + "-shm" }

// header returns the first headerSize bytes of the file, or all of a shorter file. If the path is not a regular
// file, the error wraps ErrNotDatabase.
func (f file) header() ([]byte, error) {
	info, err := os.Stat(f.path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: the path is not a regular file", ErrNotDatabase)
	}
	return head(f.path, headerSize)
}

// head returns the first size bytes of the file at path, or all of a shorter file. If the file is missing,
// head returns nil.
func head(path string, size int64) ([]byte, error) {
	from, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer from.Close() //nolint:errcheck // the file is opened for reading only
	return io.ReadAll(io.LimitReader(from, size))
}

// stat returns information about the file at path, or nil if the information cannot be read.
func stat(path string) fs.FileInfo {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	return info
}

// access returns the mode in which SQLite can read the file in its present state. The mode depends on the header, the
// log and the shared memory. The constants of type access describe each mode.
//
// The error wraps ErrNotSmithers if the file is empty, ErrIncomplete if the file ends inside its header, and
// ErrNotDatabase if the file is not an SQLite database.
func (f file) access() (access, error) {
	header, err := f.header()
	if err != nil {
		return "", err
	}
	switch {
	case len(header) == 0:
		return "", fmt.Errorf("%w: the file is empty", ErrNotSmithers)
	case isCut(header):
		return "", ErrIncomplete
	case len(header) < headerSize || !bytes.HasPrefix(header, []byte(magic)):
		return "", ErrNotDatabase
	case header[writeVersion] != 2: // the database has no write-ahead log
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

// isLog reports whether start, the beginning of a log, has a valid header and more bytes after the header. SQLite must
// not open an invalid log that no process has open. Without permission to create the shared memory, SQLite would retry
// for ten seconds.
func isLog(start []byte) bool {
	if len(start) <= logHeaderSize {
		return false
	}
	size := binary.BigEndian.Uint32(start[logPageSize:])
	// A page has a power of two of bytes, from 512 to 65536.
	return binary.BigEndian.Uint32(start)&^1 == logMagic && size >= 512 && size <= 1<<16 && size&(size-1) == 0
}

// isCut reports whether a file is the beginning of a database and ends inside the database's header. header is the
// result of file.header.
func isCut(header []byte) bool {
	n := min(len(header), len(magic))
	return 0 < n && len(header) < headerSize && string(header[:n]) == magic[:n]
}

// name returns the URI with which SQLite opens the file. options are the driver's options, in the form of a
// URI's query.
func (f file) name(options string) string {
	return "file:" + (&url.URL{Path: f.path}).EscapedPath() + "?" + options
}

// state describes the files of a database at one moment. A state is read without a lock. A state must not be read while
// this process holds locks on the file, because closing the file would release the locks.
type state struct {
	header string
	index  string      // the part of the shared memory that changes with each commit
	file   fs.FileInfo // of the database file
	log    fs.FileInfo // nil if there is no log
}

// state returns the present state of the database file, its shared memory and its log. If this process may not
// read the shared memory, the field index is empty.
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

// same reports whether the states s and other are equal: between them, no process has committed to the database or
// replaced a file.
func (s state) same(other state) bool {
	return s.sameFile(other) && s.index == other.index && sameFile(s.log, other.log)
}

// sameFile reports whether the database file is equal in the states s and other: between them, no process has
// written to the file. It ignores the log and the shared memory.
func (s state) sameFile(other state) bool {
	return s.header == other.header && sameFile(s.file, other.file)
}

// lacksEnd reports whether the file is shorter than its header says. It returns false if the header's number of
// pages is out of date. If the database has a log, the result true does not mean damage, because the log may have
// the missing pages.
func (s state) lacksEnd() bool {
	h := []byte(s.header)
	if len(h) < headerSize {
		return isCut(h)
	}
	// The number of pages is valid only if it was counted at the newest change.
	if !bytes.HasPrefix(h, []byte(magic)) || !bytes.Equal(h[changes:changes+4], h[countedAt:countedAt+4]) {
		return false
	}
	size := int64(binary.BigEndian.Uint16(h[pageSize:]))
	if size == 1 { // the two bytes cannot hold 65536
		size = 1 << 16
	}
	return s.file.Size() < size*int64(binary.BigEndian.Uint32(h[pageCount:]))
}

// sameFile reports whether a and b describe the same file with the same size and modification time, or are both
// nil.
func sameFile(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && os.SameFile(a, b)
}
