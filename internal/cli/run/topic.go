// Package run has the commands that run, check and cancel workflows. They are a topic of the help.
package run

import "github.com/git-smithers/git-smithers/internal/cli/arg"

// Topic returns the topic of the help that lists the commands of this package.
func Topic() arg.Topic {
	return arg.Topic{
		Title:    "run workflows",
		Commands: []*arg.Command{runCommand(), resumeCommand(), cancelCommand()},
		More:     []*arg.Command{sweepCommand(), checkCommand(), scoreCommand(), superviseCommand(), cronCommand()},
	}
}
