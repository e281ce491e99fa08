package arg

import (
	"strings"

	"github.com/git-smithers/git-smithers/cli/session"
)

// RemoteAndRuns returns the remote that the first argument names, as RemoteName returns it, and the other arguments,
// which are runs. If there are no arguments, the remote is "".
func RemoteAndRuns(s *session.Session, args []string) (remote string, runs []string) {
	if len(args) == 0 {
		return "", nil
	}
	return RemoteName(s, args[0]), args[1:]
}

// RemoteName returns remote unchanged, except a path that begins with ./ or ../. It resolves such a path against
// the folder in which the command was called.
func RemoteName(s *session.Session, remote string) string {
	for _, start := range []string{"./", "../"} {
		if strings.HasPrefix(remote+"/", start) {
			return s.Path(remote)
		}
	}
	return remote
}
