// Package fsx adds to package os the functions for files that the core of the program needs.
package fsx

import (
	"io"
	"io/fs"
	"os"
	"time"
)

// FS is the file system through which objstore and refs create, change, rename and remove files and put them on stable
// storage. They read files without an FS. [OS] is the real file system. Tests use file systems that record the writes
// or make them fail.
type FS interface {
	// OpenFile opens a file for writing, with the arguments of os.OpenFile.
	OpenFile(path string, flag int, perm fs.FileMode) (File, error)
	Rename(from, to string) error
	Link(from, to string) error
	Remove(path string) error
	MkdirAll(path string, perm fs.FileMode) error
	// Date sets the modification time of a file.
	Date(path string, changed time.Time) error
	// SyncDir puts a folder's entries on stable storage, as the function [SyncDir] does.
	SyncDir(path string) error
}

// File is an open file of an [FS].
type File interface {
	io.Writer
	io.WriterAt
	Name() string
	Stat() (fs.FileInfo, error)
	Sync() error
	Close() error
}

// OS is the file system of the operating system.
type OS struct{}

var _ FS = OS{}

// OpenFile opens a file as os.OpenFile does. If it fails, the File is the nil interface, not an interface with a nil
// *os.File.
func (OS) OpenFile(path string, flag int, perm fs.FileMode) (File, error) {
	f, err := openFile(path, flag, perm)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Rename moves a file as os.Rename does. It replaces an existing file at to.
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Link makes a hard link as os.Link does. It fails if a file exists at to.
func (OS) Link(from, to string) error { return os.Link(from, to) }

// Remove removes a file or an empty folder, as os.Remove does.
func (OS) Remove(path string) error { return os.Remove(path) }

// MkdirAll makes a folder and its missing parents, as os.MkdirAll does. It does nothing if the folder exists.
func (OS) MkdirAll(path string, perm fs.FileMode) error { return os.MkdirAll(path, perm) }

// Date sets the access time and the modification time of a file to changed.
func (OS) Date(path string, changed time.Time) error { return os.Chtimes(path, changed, changed) }

// SyncDir puts a folder's entries on stable storage, as the function [SyncDir] does.
func (OS) SyncDir(path string) error { return SyncDir(path) }
