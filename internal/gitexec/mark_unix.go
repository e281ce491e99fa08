//go:build unix

package gitexec

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// markOf returns a text that changes if a file does, or "" if the file is missing, and when it has changed last. known is false if that cannot be told.
func markOf(path string) (mark string, changed time.Time, known bool) {
	var stat unix.Stat_t
	if err := unix.Stat(path, &stat); err != nil {
		return "", time.Time{}, errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENOTDIR)
	}
	changed = time.Unix(stat.Ctim.Unix())
	return fmt.Sprint(stat.Dev, stat.Ino, stat.Size, stat.Mtim.Nano(), changed.UnixNano(), stat.Uid), changed, stat.Mode&unix.S_IFMT == unix.S_IFREG
}

// deviceOf returns the file system of a folder.
func deviceOf(path string) (device uint64, known bool) {
	var stat unix.Stat_t
	err := unix.Lstat(path, &stat)
	return uint64(stat.Dev), err == nil //nolint:unconvert // an int32 on macOS
}
