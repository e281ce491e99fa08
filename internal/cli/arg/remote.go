package arg

import (
	"strings"

	"github.com/git-smithers/git-smithers/internal/cli/session"
)

// RemoteAndRuns splits args into a remote and runs. The first argument is the remote, which RemoteAndRuns converts with
// RemoteName. The other arguments are the runs. If args is empty, remote is "".
func RemoteAndRuns(s *session.Session, args []string) (remote string, runs []string) {
	if len(args) == 0 {
		return "", nil
	}
	return RemoteName(s, args[0]), args[1:]
}

// RemoteName returns the remote that an argument names. If the argument is a path that begins with ./ or ../, or is .
// or .., the result is the absolute path, resolved against the folder in which the command was called. Otherwise the
// argument is returned unchanged.
func RemoteName(s *session.Session, remote string) string {
	for _, start := range []string{"./", "../"} {
		if strings.HasPrefix(remote+"/", start) {
			return s.Path(remote)
		}
	}
	return remote
}
