//go:build unix

package source

import (
	"io/fs"
	"os"
	"syscall"
)

// isOurs reports whether the file that info describes belongs to the user of this process.
func isOurs(info fs.FileInfo) bool {
	of, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(of.Uid) == os.Geteuid()
}
