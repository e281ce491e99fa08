package cli

import "github.com/git-smithers/git-smithers/internal/cli/arg"

// CommandPaths are the names of all commands that do something, hidden ones included, as people type them.
func CommandPaths() []string { return paths(tree()) }

func paths(c *arg.Command) []string {
	var out []string
	if c.Run != nil {
		out = append(out, c.Path)
	}
	for _, child := range c.Children {
		out = append(out, paths(child)...)
	}
	return out
}

// CommandTree exposes treeFor.
var CommandTree = treeFor
