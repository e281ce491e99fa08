package gitexec

import (
	"context"
	"strings"
)

// OwnCommand returns the command in a setting of the user's own configuration: that of the system or of the user, or the command line of git. It returns ""
// if there is none. A repository may come from a stranger, so its configuration must not name a command: OwnCommand ignores the value, and ignored is
// true. An empty value in the repository's configuration switches the user's command off.
func (r Repo) OwnCommand(ctx context.Context, key string, env []string) (line string, ignored bool, err error) {
	if _, ok := r.Config.Get(key); !ok {
		return "", false, nil
	}
	out, err := New(r, env).Run(ctx, "config", "--show-scope", "-z", "--get-all", key)
	if err != nil {
		return "", false, err
	}
	words := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	for i := 0; i+1 < len(words); i += 2 { // git prints the weakest scope first
		switch scope, value := words[i], strings.TrimSpace(words[i+1]); scope {
		case "system", "global", "command":
			line = value
		default: // local and worktree, and whatever a newer git adds; git says local also of a file that local includes
			if value != "" {
				ignored = true
				continue
			}
			line = ""
		}
	}
	return line, ignored, nil
}
