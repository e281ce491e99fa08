package arg

import (
	"strings"

	"github.com/git-smithers/git-smithers/cli/session"
)

// RemoteAndRuns splits the arguments of a command that takes a remote, and then runs. A
// path is as seen from where the command was called.
func RemoteAndRuns(s *session.Session, args []string) (remote string, runs []string) {
	if len(args) == 0 {
		return "", nil
	}
	return RemoteName(s, args[0]), args[1:]
}

// RemoteName is a remote as the command line names it; a path is as seen from where the command was called.
func RemoteName(s *session.Session, remote string) string {
	for _, start := range []string{"./", "../"} {
		if strings.HasPrefix(remote+"/", start) {
			return s.Path(remote)
		}
	}
	return remote
}
