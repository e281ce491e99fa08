// Package back takes runs and files back, and tries another way: a topic of the help.
package back

import "github.com/git-smithers/git-smithers/cli/arg"

// Topic returns the topic of the help that lists the commands of this package.
func Topic() arg.Topic {
	return arg.Topic{
		Title:    "go back, or try another way",
		Commands: []*arg.Command{travelCommand(), resetCommand(), undoCommand(), forkCommand(), replayCommand(), restoreCommand(), revertCommand()},
		More:     []*arg.Command{opsCommand(), worktreesCommand()},
	}
}
