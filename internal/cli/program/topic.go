// Package program has the commands for programs: captures, completion, the man page and the version. They are a topic
// of the help.
package program

import "github.com/git-smithers/git-smithers/internal/cli/arg"

// Topic returns the topic of the help that lists the commands of this package. tree returns the root of all
// commands, for the man page and completion.
func Topic(tree func() *arg.Command) arg.Topic {
	return arg.Topic{
		Title: "for programs",
		More:  []*arg.Command{captureCommand(), serveCommand(), completionCommand(tree), completeCommand(tree), notifyCommand(), manCommand(tree), versionCommand()},
	}
}
