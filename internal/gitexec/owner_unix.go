//go:build unix

package gitexec

import (
	"os"
	"strconv"
	"syscall"
)

// isOwn reports whether path belongs to the user of this process. For root, this is also the user who called sudo.
func isOwn(path string, env []string) bool {
	info, err := os.Lstat(path)
	if err != nil {
		return true
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) == os.Geteuid() {
		return ok
	}
	caller, _ := LookupEnv(env, "SUDO_UID")
	return os.Geteuid() == 0 && caller == strconv.Itoa(int(stat.Uid))
}
