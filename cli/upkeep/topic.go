// Package upkeep keeps history in order: it sets up, checks, packs and removes: a topic of the help.
package upkeep

import "github.com/git-smithers/git-smithers/cli/arg"

// Topic returns the topic of the help that lists the commands of this package.
func Topic() arg.Topic {
	return arg.Topic{
		Title: "keep runs in order",
		More:  []*arg.Command{initCommand(), doctorCommand(), verifyCommand(), sealCommand(), pruneCommand(), duCommand()},
		Old:   []*arg.Command{unsealCommand(), indexCommand()},
	}
}
