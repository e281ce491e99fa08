package cli

import (
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/timeline/fault"
)

// An invocation is a command line taken apart. urfave/cli stops reading flags at
// the first argument and takes later ones for arguments, so flags are found here,
// wherever they stand, and handed to it in front.
type invocation struct {
	command *command
	flags   []string // in their order, each "--name" or "--name=value"
	args    []string // in their order
	help    bool     // help is asked for, by a flag or by the word
	all     bool     // of all commands
	page    string   // of the documentation that help is asked for; "" for none
}

// argv is the command line for urfave/cli: flags, then "--", then arguments.
func (in *invocation) argv() []string {
	argv := append([]string{"git-smithers"}, strings.Fields(in.command.path)...)
	argv = append(argv, in.flags...)
	return append(append(argv, "--"), in.args...)
}

// parse takes a command line apart. Flags may stand before, between and after
// the arguments, and those that every command takes also before the command's
// name; "--" ends them. A flag's value is never taken for an argument, whatever it
// looks like. "-" is an argument. The error's code is usage or unknown_command.
func parse(root *command, args []string) (*invocation, error) {
	in := &invocation{command: root}
	helped := false // by the word, and not by a flag
	for len(args) > 0 {
		arg := args[0]
		switch {
		case arg == "--" && in.command.run == nil:
			return nil, in.command.misused("a command must stand before --")
		case arg == "--":
			in.args = append(in.args, args[1:]...)
			return in, nil
		case arg == "--all" && in.command == root && in.help:
			in.all, args = true, args[1:]
		case arg == "--version" && in.command == root:
			args = append([]string{"version"}, args[1:]...)
		case len(arg) > 1 && arg[0] == '-':
			rest, err := in.readFlag(args)
			if err != nil {
				return nil, err
			}
			args = rest
		case in.command == root && arg == "help":
			in.help, helped, args = true, true, args[1:]
		case in.page != "":
			return nil, helpTakesOne(in.page, arg)
		case in.command == root && in.help && isHelpPage(arg):
			in.page, args = arg, args[1:]
		case len(in.command.children) > 0 && len(in.args) == 0:
			child := in.command.child(arg)
			if child == nil && helped && in.command == root {
				return nil, unknownHelp(root, arg)
			}
			if child == nil && in.command.run == nil {
				return nil, in.command.unknownChild(arg)
			}
			if child == nil {
				return nil, in.command.misused("%s takes no arguments, got %q", in.command.path, arg)
			}
			in.command, args = child, args[1:]
		case helped:
			return nil, helpTakesOne(in.command.path, arg)
		default:
			in.args, args = append(in.args, arg), args[1:]
		}
	}
	return in, nil
}

// readFlag reads the flag that args begins with and returns what follows it and
// its value.
func (in *invocation) readFlag(args []string) ([]string, error) {
	if !strings.HasPrefix(args[0], "--") {
		return in.readShort(args)
	}
	name, value, hasValue := strings.Cut(args[0][2:], "=")
	flag := in.command.flag(name)
	switch {
	case flag == nil || len(name) < 2:
		return nil, in.command.unknownFlag("--" + name)
	case hasValue:
		in.add(flag, name+"="+value)
		return args[1:], nil
	case !takesValue(flag):
		in.add(flag, name)
		return args[1:], nil
	case len(args) == 1:
		return nil, in.command.misused("--%s needs a value", name)
	}
	in.add(flag, name+"="+args[1])
	return args[2:], nil
}

// readShort reads "-n", "-n value", "-nvalue", "-n=value", and "-qh" for "-q -h".
func (in *invocation) readShort(args []string) ([]string, error) {
	letters := args[0][1:]
	for i, letter := range letters {
		flag := in.command.flag(string(letter))
		if flag == nil {
			return nil, in.command.unknownFlag(args[0])
		}
		name := longName(flag)
		rest := letters[i+len(string(letter)):]
		switch {
		case strings.HasPrefix(rest, "="):
			in.add(flag, name+rest)
			return args[1:], nil
		case !takesValue(flag):
			in.add(flag, name)
			continue
		case rest != "":
			in.add(flag, name+"="+rest)
			return args[1:], nil
		case len(args) == 1:
			return nil, in.command.misused("-%c needs a value", letter)
		}
		in.add(flag, name+"="+args[1])
		return args[2:], nil
	}
	return args[1:], nil
}

func (in *invocation) add(flag urfave.Flag, text string) {
	if longName(flag) == "help" {
		in.help = true
		return
	}
	in.flags = append(in.flags, "--"+text)
}

// flag finds a flag by any of its names; nil when there is none.
func (c *command) flag(name string) urfave.Flag {
	i := slices.IndexFunc(c.flags, func(f urfave.Flag) bool { return slices.Contains(f.Names(), name) })
	if i < 0 {
		return nil
	}
	return c.flags[i]
}

// takesValue reports whether a flag wants a value.
func takesValue(flag urfave.Flag) bool {
	documented, ok := flag.(urfave.DocGenerationFlag)
	return ok && documented.TakesValue()
}

// longName is the name under which a flag was declared.
func longName(flag urfave.Flag) string { return flag.Names()[0] }

func (c *command) unknownFlag(flag string) error {
	if c.path == "" {
		return fault.New(fault.Usage, "unknown flag %s", flag).Hint("`%s -h` lists the commands and flags", program)
	}
	err := fault.New(fault.Usage, "%s has no flag %s", c.path, flag)
	var names []string
	for _, f := range c.flags {
		names = append(names, longName(f))
	}
	if near, ok := nearest(strings.TrimLeft(flag, "-"), names); ok {
		return err.Hint("did you mean --%s?", near)
	}
	return err.Hint("`%s -h` lists its flags", c.line())
}

func (c *command) unknownChild(name string) error {
	err := fault.New(fault.UnknownCommand, "%q is not a command of %s", name, c.line()).Detail("command", name)
	var names []string
	for _, child := range c.visible() {
		names = append(names, child.name)
	}
	if near, ok := nearest(name, names); ok {
		return err.Hint("did you mean `%s %s`?", c.line(), near)
	}
	if c.path == "" && isHelpPage(name) {
		return err.Hint("`%s help %s` is a page of help", program, fault.Word(name))
	}
	return err.Hint("`%s -h` lists the commands", c.line())
}

// nearest finds the candidate that name most likely meant: the first with the
// fewest edits, at most one in three characters.
func nearest(name string, candidates []string) (string, bool) {
	best, found := max(1, len(name)/3)+1, ""
	for _, candidate := range candidates {
		if d := edits(name, candidate); d < best {
			best, found = d, candidate
		}
	}
	return found, found != ""
}

// edits counts the insertions, removals, replacements and swaps of neighbours
// that lead from a to b.
func edits(a, b string) int {
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(row[j]+1, last[j+1]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
