// Package answer has the commands that list what runs wait for, and that answer. They are a topic of the help.
package answer

import "github.com/git-smithers/git-smithers/internal/cli/arg"

// Topic returns the topic of the help that lists the commands of this package.
func Topic() arg.Topic {
	return arg.Topic{
		Title:    "answer a waiting run",
		Commands: []*arg.Command{inboxCommand(), approveCommand(), denyCommand(), answerCommand()},
		More:     []*arg.Command{signalCommand()},
		Old:      []*arg.Command{cancelRequestCommand(), signalsCommand()},
	}
}
