package arg

import (
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// An Invocation is a parsed command line.
type Invocation struct {
	Command *Command
	Flags   []string // in their order, each "--name" or "--name=value"
	Args    []string // in their order
	Help    bool     // the command line asks for help, by a flag or by the word
	All     bool     // the help lists all commands
	Page    string   // the page that help shows; "" for none
}

// Parse parses args, the words after the name of the program, as a command line of root or of a command below root. The
// error is usage, or unknown_command if there is no such command. The rules are:
//   - Flags may stand before, between and after the arguments. The common flags may also stand before the name of the
//     command. "--" ends the flags.
//   - The word after a flag that takes a value is the value, even if the word looks like a flag.
//   - "-" alone is an argument.
//   - The word help before the command sets Help, and a page may then stand in place of the command. After help, --all
//     sets All.
//   - --version in place of a command is the command version.
func Parse(root *Command, args []string) (*Invocation, error) {
	in := &Invocation{Command: root}
	helped := false // the word help came before the command
	for len(args) > 0 {
		arg := args[0]
		switch {
		case arg == "--" && in.Command.Run == nil:
			return nil, in.Command.Misused("type a command before --")
		case arg == "--":
			in.Args = append(in.Args, args[1:]...)
			return in, nil
		case arg == "--all" && in.Command == root && in.Help:
			in.All, args = true, args[1:]
		case arg == "--version" && in.Command == root:
			args = append([]string{"version"}, args[1:]...)
		case len(arg) > 1 && arg[0] == '-':
			rest, err := in.readFlag(args)
			if err != nil {
				return nil, err
			}
			args = rest
		case in.Command == root && arg == "help":
			in.Help, helped, args = true, true, args[1:]
		case in.Page != "":
			return nil, helpTakesOne(in.Page, arg)
		case in.Command == root && in.Help && isHelpPage(arg):
			in.Page, args = arg, args[1:]
		case len(in.Command.Children) > 0 && len(in.Args) == 0:
			child := in.Command.Child(arg)
			if child == nil && helped && in.Command == root {
				return nil, unknownHelp(root, arg)
			}
			if child == nil && in.Command.Run == nil {
				return nil, in.Command.unknownChild(arg)
			}
			if child == nil {
				return nil, in.Command.Misused("%s takes no arguments, got %q", in.Command.Path, arg)
			}
			in.Command, args = child, args[1:]
		case helped:
			return nil, helpTakesOne(in.Command.Path, arg)
		default:
			in.Args, args = append(in.Args, arg), args[1:]
		}
	}
	return in, nil
}

// readFlag adds the flag at the beginning of args to in, with its value, and returns the remaining args. The value
// follows a = or is the next word. The error is usage if the command has no such flag, or if the value is missing.
func (in *Invocation) readFlag(args []string) ([]string, error) {
	if !strings.HasPrefix(args[0], "--") {
		return in.readShort(args)
	}
	name, value, hasValue := strings.Cut(args[0][2:], "=")
	flag := in.Command.Flag(name)
	switch {
	case flag == nil || len(name) < 2:
		return nil, in.Command.unknownFlag("--" + name)
	case hasValue:
		in.add(flag, name+"="+value)
		return args[1:], nil
	case !takesValue(flag):
		in.add(flag, name)
		return args[1:], nil
	case len(args) == 1:
		return nil, in.Command.Misused("--%s needs a value", name)
	}
	in.add(flag, name+"="+args[1])
	return args[2:], nil
}

// readShort does the same as readFlag if the first word of args has short flags. Examples of such words are -n, -nvalue
// and -n=value. A word may also have several flags: -qh is the same as -q -h. If the last flag of the word takes a
// value that is not in the word, the value is the next word.
func (in *Invocation) readShort(args []string) ([]string, error) {
	letters := args[0][1:]
	for i, letter := range letters {
		flag := in.Command.Flag(string(letter))
		if flag == nil {
			return nil, in.Command.unknownFlag(args[0])
		}
		name := LongName(flag)
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
			return nil, in.Command.Misused("-%c needs a value", letter)
		}
		in.add(flag, name+"="+args[1])
		return args[2:], nil
	}
	return args[1:], nil
}

// add adds a flag to in.Flags. text is the flag without the leading "--", with its value. For the flag help, add sets
// in.Help instead.
func (in *Invocation) add(flag urfave.Flag, text string) {
	if LongName(flag) == "help" {
		in.Help = true
		return
	}
	in.Flags = append(in.Flags, "--"+text)
}

// Flag returns the flag of c with the given name, which may be the long name, the short name or another name of the
// flag. It returns nil if c has no such flag.
func (c *Command) Flag(name string) urfave.Flag {
	i := slices.IndexFunc(c.Flags, func(f urfave.Flag) bool { return slices.Contains(f.Names(), name) })
	if i < 0 {
		return nil
	}
	return c.Flags[i]
}

// takesValue reports whether a flag takes a value.
func takesValue(flag urfave.Flag) bool {
	documented, ok := flag.(urfave.DocGenerationFlag)
	return ok && documented.TakesValue()
}

// LongName returns the first name of a flag: the name in its declaration, without the aliases.
func LongName(flag urfave.Flag) string { return flag.Names()[0] }

// unknownFlag returns the usage error for a flag that c does not have. flag is the flag as the user typed it. The hint
// is the flag with the nearest name, if there is one.
func (c *Command) unknownFlag(flag string) error {
	if c.Path == "" {
		return fault.New(fault.Usage, "unknown flag %s", flag).Hint("`%s -h` lists the commands and flags", Program)
	}
	err := fault.New(fault.Usage, "%s has no flag %s", c.Path, flag)
	var names []string
	for _, f := range c.Flags {
		names = append(names, LongName(f))
	}
	if near, ok := plain.Nearest(strings.TrimLeft(flag, "-"), names); ok {
		return err.Hint("did you mean --%s?", near)
	}
	return err.Hint("`%s -h` lists the flags of the command", c.line())
}

// unknownChild returns unknown_command for a name that no command of the group c has. The hint has the commands that the user may mean, see meant,
// or the help page with this name, if there is one.
func (c *Command) unknownChild(name string) error {
	err := fault.New(fault.UnknownCommand, "%q is not a command of %s", name, c.line()).Detail("command", name)
	if lines := c.meant(name); len(lines) > 0 {
		err = err.Hint("did you mean %s?", alternatives(c.line(), lines))
	}
	if c.Path == "" && isHelpPage(name) {
		err = err.Hint("`%s help %s` is a page of help", Program, fault.Word(name))
	}
	if len(err.Hints) > 0 {
		return err
	}
	return err.Hint("`%s -h` lists the commands", c.line())
}

// grandchild returns the path of the command with the name in a group of c, such as "session what-if"; "" if no group has it, or several have.
func (c *Command) grandchild(name string) string {
	var paths []string
	for _, group := range c.visible() {
		for _, child := range group.visible() {
			if child.Name == name {
				paths = append(paths, group.Name+" "+name)
			}
		}
	}
	if len(paths) != 1 {
		return ""
	}
	return paths[0]
}
