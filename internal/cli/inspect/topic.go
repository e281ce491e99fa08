// Package inspect has the commands that show what happened: runs, frames, logs, events and differences. These commands are
// one topic of the help.
package inspect

import (
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/view"
)

// Topic returns the topic of the help that lists the commands of this package.
func Topic() arg.Topic {
	return arg.Topic{
		Title:    "see what happened",
		Commands: []*arg.Command{statusCommand(), view.TUI(), runsCommand(), timelineCommand(), showCommand(), logsCommand(), diffCommand()},
		More:     []*arg.Command{bisectCommand(), searchCommand(), view.MCP(), compareCommand(), reportCommand(), framesCommand(), blameCommand(), traceCommand(), callsCommand(), scoresCommand(), eventsCommand(), branchesCommand(), sqlCommand(), metricsCommand(), tracesCommand()},
	}
}
