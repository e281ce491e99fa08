// Package sharing has the commands that take runs to other repositories and bring them back. These commands are one
// topic of the help.
package sharing

import "github.com/git-smithers/git-smithers/internal/cli/arg"

// Topic returns the topic of the help that lists the commands of this package.
func Topic() arg.Topic {
	return arg.Topic{
		Title:    "share runs",
		Commands: []*arg.Command{pushCommand(), fetchCommand()},
		More:     []*arg.Command{scanCommand(), remoteCommand(), bundleCommand(), unbundleCommand()},
	}
}
