package cli

// CommandPaths are the names of all commands that do something, hidden ones included, as people type them.
func CommandPaths() []string { return paths(tree()) }

func paths(c *command) []string {
	var out []string
	if c.run != nil {
		out = append(out, c.path)
	}
	for _, child := range c.children {
		out = append(out, paths(child)...)
	}
	return out
}
