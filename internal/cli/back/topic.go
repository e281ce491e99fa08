// Package back has the commands that set runs and files back to an earlier state, and that fork and replay runs. They
// are a topic of the help.
package back

import "github.com/git-smithers/git-smithers/internal/cli/arg"

// Topic returns the topic of the help that lists the commands of this package.
func Topic() arg.Topic {
	return arg.Topic{
		Title:    "go back, or try another way",
		Commands: []*arg.Command{landCommand(), travelCommand(), resetCommand(), undoCommand(), forkCommand(), replayCommand(), restoreCommand(), revertCommand()},
		More:     []*arg.Command{opsCommand(), worktreesCommand()},
	}
}
