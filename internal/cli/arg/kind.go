package arg

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// ReadPartly reads the beginning of a command line, which a shell has split into words. The results describe the
// position after the last word:
//   - cmd is the command that the words name, or root.
//   - place is the number of arguments of cmd among the words.
//   - run is the last run or address among the words, given as an argument or as the value of a flag. It is "" if the
//     words have no run or address.
//   - flag is the long name of the last word, if that word is a flag that still needs its value. Otherwise flag is "".
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

// placeholders returns the regular expression that matches an argument in a usage line. Its groups are "[" if the
// argument is optional, the kind of the argument, "[:<frame>]" if a frame may follow, and "..." if the argument can be repeated.
var placeholders = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\[?)<(\w+)>(\[:<frame>\])?(\.\.\.)?`) })

// completesValues reports whether shells can complete the first argument of c, because it may be a run, an address or a
// workflow file.
func (c *Command) completesValues() bool {
	return slices.ContainsFunc(c.PlaceKinds(0), func(kind string) bool {
		return slices.Contains([]string{"run", "address", "workflow"}, kind)
	})
}

// FlagKind returns the kind of value that a flag of c takes: run, frame or node. name is any name of the flag. FlagKind
// returns "" for any other flag, for a name that no flag has, and for the flag that sets the id of a new run.
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
	case "run", "forks-of", "with-state", "best":
		return "run"
	case "frame":
		return "frame"
	case "node", "node-id":
		return "node"
	}
	return ""
}

// PlaceKinds returns the kinds of values that an argument of c may have, without duplicates. place is the number of the
// argument; the first argument is 0. The kinds come from all usage lines of c:
//   - The kind of an argument is the word in angle brackets in the usage line, or address for <run>[:<frame>].
//   - A user may leave out an optional argument. Its place then has the next argument, so the kinds of both are
//     returned.
//   - After the last argument of a usage line, every further argument has the kind of the last one.
func (c *Command) PlaceKinds(place int) []string { return c.kinds(place, false) }

// kindsAt returns the kinds as PlaceKinds does, but only an argument that can be repeated is followed by arguments of its kind.
func (c *Command) kindsAt(place int) []string { return c.kinds(place, true) }

// kinds returns the kinds for PlaceKinds and, if repeatedOnly is true, for kindsAt.
func (c *Command) kinds(place int, repeatedOnly bool) []string {
	var kinds []string
	for _, form := range c.Usage {
		found := placeholders().FindAllStringSubmatch(form, -1)
		if repeatedOnly && place >= len(found) && (len(found) == 0 || found[len(found)-1][4] == "") {
			continue
		}
		for i := min(place, len(found)-1); i >= 0 && i < len(found); i++ {
			kind := found[i][2]
			if found[i][3] != "" {
				kind = "address"
			}
			if !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
			if found[i][1] == "" { // a required argument, so the next one cannot take its place
				break
			}
		}
	}
	return kinds
}
