//go:build unix

package fsx

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// TryLock takes the flock of an open file, for itself alone or shared with others, without waiting. It returns false if another
// open file has a lock that excludes this one. Two opens of a file exclude each other within a process, too.
func TryLock(f *os.File, alone bool) (bool, error) {
	how := unix.LOCK_SH | unix.LOCK_NB
	if alone {
		how = unix.LOCK_EX | unix.LOCK_NB
	}
	for {
		switch err := unix.Flock(int(f.Fd()), how); {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, unix.EINTR):
			return false, &os.PathError{Op: "flock", Path: f.Name(), Err: err}
		}
	}
}

// Unlock releases the flock of an open file.
func Unlock(f *os.File) error {
	if err := unix.Flock(int(f.Fd()), unix.LOCK_UN); err != nil {
		return &os.PathError{Op: "flock", Path: f.Name(), Err: err}
	}
	return nil
}

// Links returns the number of names of a file, or 1 if the system does not count them.
func Links(info fs.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Nlink)
	}
	return 1
}
