package arg

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// ReadPartly reads the beginning of a command line. It returns the command, the number of its arguments, the named run, and
// the flag whose value comes next, or "".
func ReadPartly(root *Command, words []string) (cmd *Command, place int, run, flag string) {
	cmd = root
	for _, word := range words {
		name, value, whole := strings.Cut(strings.TrimLeft(word, "-"), "=")
		switch {
		case flag != "":
			if cmd.FlagKind(flag) == "run" {
				run = word
			}
			flag = ""
		case strings.HasPrefix(word, "-"):
			f := cmd.Flag(name)
			if f == nil || !takesValue(f) {
				continue
			}
			if !whole {
				flag = LongName(f)
			} else if cmd.FlagKind(LongName(f)) == "run" {
				run = value
			}
		case cmd.Child(word) != nil:
			cmd = cmd.Child(word)
		default:
			if slices.Contains(cmd.PlaceKinds(place), "run") || slices.Contains(cmd.PlaceKinds(place), "address") {
				run = word
			}
			place++
		}
	}
	return cmd, place, run, flag
}

// placeholders matches the arguments in a usage line.
var placeholders = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\[?)<(\w+)>(\[:<frame>\])?`) })

// completesValues reports whether an argument of the command is of a kind that has values.
func (c *Command) completesValues() bool {
	return slices.ContainsFunc(c.PlaceKinds(0), func(kind string) bool {
		return slices.Contains([]string{"run", "address", "workflow"}, kind)
	})
}

// FlagKind returns the kind of a flag's value: run, frame, node, or "".
func (c *Command) FlagKind(name string) string {
	f := c.Flag(name)
	if f == nil {
		return ""
	}
	switch LongName(f) {
	case "run-id":
		if c.Name == "run" || c.Name == "fork" {
			return "" // the id of a new run
		}
		return "run"
	case "run":
		return "run"
	case "frame":
		return "frame"
	case "node", "node-id":
		return "node"
	}
	return ""
}

// PlaceKinds returns the kinds of values that the usage lines of the command have in the place of an argument. Places are
// counted from 0.
func (c *Command) PlaceKinds(place int) []string {
	var kinds []string
	for _, form := range c.Usage {
		found := placeholders().FindAllStringSubmatch(form, -1)
		for i := min(place, len(found)-1); i >= 0 && i < len(found); i++ {
			kind := found[i][2]
			if found[i][3] != "" {
				kind = "address"
			}
			if !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
			if found[i][1] == "" {
				break
			}
		}
	}
	return kinds
}
