// Package answer shows what runs wait for, and answers: a topic of the help.
package answer

import "github.com/git-smithers/git-smithers/cli/arg"

// Topic returns the topic of the help that lists the commands of this package.
func Topic() arg.Topic {
	return arg.Topic{
		Title:    "answer a waiting run",
		Commands: []*arg.Command{inboxCommand(), approveCommand(), denyCommand(), answerCommand(), signalCommand()},
		Old:      []*arg.Command{cancelRequestCommand(), signalsCommand()},
	}
}
