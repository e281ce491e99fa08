//go:build unix

package fsx

import (
	"os"
	"syscall"
)

// ReadSmall reads the beginning of the file at path into buf and returns the number of bytes read. It ignores the bytes
// of the file that do not fit into buf. ReadSmall needs three system calls, half as many as [os.ReadFile], which saves
// time for thousands of refs. The error is an [*os.PathError].
func ReadSmall(path string, buf []byte) (int, error) {
	fd, err := open(path)
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

// open opens the file at path for reading and returns its file descriptor. It tries again if a signal interrupts the
// call.
func open(path string) (int, error) {
	for {
		fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
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
