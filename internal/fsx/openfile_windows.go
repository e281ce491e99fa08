package fsx

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// RemoveHeld closes held, and removes what it protected: Windows removes no open file, and no folder with one. Between the two, another process
// can take hold of it. Then the removal fails, or the other process notices that what it holds is gone, as it must on any system.
func RemoveHeld(held io.Closer, remove func() error) error {
	err := held.Close()
	return errors.Join(err, remove())
}

// RenameOpen moves an open file to another name, where it replaces a file, and returns the file, open for writing at its end. If it fails, file is still to
// be closed. Windows moves no open file, so the file is another one.
func RenameOpen(file *os.File, to string) (*os.File, error) {
	if err := file.Close(); err != nil {
		return nil, err
	}
	if err := os.Rename(file.Name(), to); err != nil {
		return nil, err
	}
	moved, err := os.OpenFile(to, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	if _, err := moved.Seek(0, io.SeekEnd); err != nil {
		return nil, errors.Join(err, moved.Close())
	}
	return moved, nil
}

// OpenShared opens a file as os.OpenFile does, so that others can remove and replace it meanwhile. It knows the flags O_RDONLY,
// O_RDWR, O_CREATE and O_EXCL.
func OpenShared(path string, flag int) (*os.File, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	access := uint32(windows.GENERIC_READ)
	if flag&os.O_RDWR != 0 {
		access |= windows.GENERIC_WRITE
	}
	made := uint32(windows.OPEN_EXISTING)
	switch {
	case flag&os.O_CREATE != 0 && flag&os.O_EXCL != 0:
		made = windows.CREATE_NEW
	case flag&os.O_CREATE != 0:
		made = windows.OPEN_ALWAYS
	}
	share := uint32(windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE)
	handle, err := windows.CreateFile(name, access, share, nil, made, windows.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(handle), path), nil
}
