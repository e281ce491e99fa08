// Package upkeep has the commands that keep history in order: they set up, check, pack and remove. These commands are
// one topic of the help.
package upkeep

import "github.com/git-smithers/git-smithers/internal/cli/arg"

// Topic returns the topic of the help that lists the commands of this package.
func Topic() arg.Topic {
	return arg.Topic{
		Title: "keep runs in order",
		More:  []*arg.Command{initCommand(), doctorCommand(), verifyCommand(), sealCommand(), pruneCommand(), duCommand(), cacheCommand(), secretCommand()},
		Old:   []*arg.Command{unsealCommand(), indexCommand()},
	}
}
