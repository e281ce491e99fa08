// Package peers has the commands that exchange runs with databases of Smithers. They are a topic of the help.
package peers

import "github.com/git-smithers/git-smithers/internal/cli/arg"

// Topic returns the topic of the help that lists the commands of this package.
func Topic() arg.Topic {
	return arg.Topic{
		Title: "work with Smithers",
		More:  []*arg.Command{importCommand(), watchCommand(), exportCommand()},
	}
}
