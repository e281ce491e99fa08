//go:build unix

package fsx

import (
	"os"
	"syscall"
)

// ReadSmall reads a file from its beginning into buf and returns how much there
// was. A file longer than buf is cut. It costs three system calls, half of what
// [os.ReadFile] does, which counts where thousands of refs are read.
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

func open(path string) (int, error) {
	for {
		fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != syscall.EINTR {
			return fd, err
		}
	}
}

// fill reads once: a regular file gives all it has, up to the length of buf.
func fill(fd int, buf []byte) (int, error) {
	for {
		n, err := syscall.Read(fd, buf)
		if err == syscall.EINTR {
			continue
		}
		return max(n, 0), err
	}
}
