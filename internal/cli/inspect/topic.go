// Package inspect has the commands that show what happened: runs, frames, logs, events and differences. These commands are
// one topic of the help.
package inspect

import "github.com/git-smithers/git-smithers/internal/cli/arg"

// Topic returns the topic of the help that lists the commands of this package.
func Topic() arg.Topic {
	return arg.Topic{
		Title:    "see what happened",
		Commands: []*arg.Command{statusCommand(), runsCommand(), timelineCommand(), showCommand(), logsCommand(), diffCommand()},
		More:     []*arg.Command{compareCommand(), reportCommand(), framesCommand(), callsCommand(), scoresCommand(), eventsCommand(), branchesCommand(), sqlCommand(), metricsCommand(), tracesCommand()},
	}
}
