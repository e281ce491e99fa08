//go:build unix

package fsx

import (
	"io/fs"
	"os"
	"syscall"
)

// ReadSmall reads the beginning of the file at path into buf and returns the number of bytes read. It ignores the bytes
// of the file that do not fit into buf. ReadSmall needs three system calls, half as many as [os.ReadFile], which saves
// time for thousands of refs. The error is an [*os.PathError].
func ReadSmall(path string, buf []byte) (int, error) {
	fd, err := open(path, syscall.O_RDONLY, 0)
	if err != nil {
		return 0, &os.PathError{Op: "open", Path: path, Err: err}
	}
	n, err := fill(fd, buf)
	if closeErr := syscall.Close(fd); err == nil {
		err = closeErr
	}
	if err != nil {
		return 0, &os.PathError{Op: "read", Path: path, Err: err}
	}
	return n, nil
}

// openFile opens a regular file as os.OpenFile does, without asking the poller of Go for the file: epoll refuses regular files, and to
// ask takes five system calls.
func openFile(path string, flag int, perm fs.FileMode) (*os.File, error) {
	fd, err := open(path, flag, uint32(perm.Perm()))
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// open opens the file at path and returns its file descriptor. It tries again if a signal interrupts the call.
func open(path string, flag int, perm uint32) (int, error) {
	for {
		fd, err := syscall.Open(path, flag|syscall.O_CLOEXEC, perm)
		if err != syscall.EINTR {
			return fd, err
		}
	}
}

// fill reads once into buf and returns the number of bytes read. One read is enough, because a regular file returns
// all of its bytes that fit. fill tries again if a signal interrupts the call.
func fill(fd int, buf []byte) (int, error) {
	for {
		n, err := syscall.Read(fd, buf)
		if err == syscall.EINTR {
			continue
		}
		// After an error, syscall.Read returns -1.
		return max(n, 0), err
	}
}
