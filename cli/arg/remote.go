package arg

import (
	"strings"

	"github.com/git-smithers/git-smithers/cli/session"
)

// RemoteAndRuns splits the arguments of a command into a remote, "" for none, and runs.
func RemoteAndRuns(s *session.Session, args []string) (remote string, runs []string) {
	if len(args) == 0 {
		return "", nil
	}
	return RemoteName(s, args[0]), args[1:]
}

// RemoteName returns the remote that the command line names. A path that begins with ./ or ../ is relative to the folder of
// the command.
func RemoteName(s *session.Session, remote string) string {
	for _, start := range []string{"./", "../"} {
		if strings.HasPrefix(remote+"/", start) {
			return s.Path(remote)
		}
	}
	return remote
}
