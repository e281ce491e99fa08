// Package arg describes commands. Parsing, help, the man page and shell completion use the descriptions. The package
// also has the flags and arguments that several commands take.
package arg

import (
	"context"
	"math"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// AnyNumber is the MaxArgs of a command that takes any number of arguments.
const AnyNumber = math.MaxInt

// wholeIDs ends the help of every command that changes the named runs.
const wholeIDs = `Type the whole id of the run, or @ for the newest one: a prefix works only for commands that read.`

// Program is the text that people type before the name of a command.
const Program = fault.Program

// A Command describes one command, or a group of commands. Parsing, help, the man page and shell completion all use
// this description.
type Command struct {
	Name     string
	Summary  string   // one line for lists: imperative, no period
	Usage    []string // what may follow the name, one line for each form
	About    string   // paragraphs, separated by empty lines; already wrapped
	MinArgs  int
	MaxArgs  int      // AnyNumber: no limit
	Required []string // names of flags that must be given
	Flags    []urfave.Flag
	Examples []Example
	Changes  bool  // the command changes the named runs or their files, so its help says that it takes whole ids
	Newest   bool  // without an argument, the command takes the newest session of the working copy
	Exits    []int // the exit statuses of the command besides 0, 4, 70, 130 and 143
	Hidden   bool
	Topics   []Topic    // only for the root: the children in the order in which help lists the commands
	Children []*Command // the commands of a group; if Run is nil, the command line must name a command of the group
	Run      func(context.Context, *session.Session, *urfave.Context) error

	Path string // the names from the first group to this command; set by Link
}

// A Topic is commands that help lists under a title.
type Topic struct {
	Title    string // imperative, no period
	Commands []*Command
	More     []*Command // listed only by help --all
	Old      []*Command // commands that became a flag of another command; never listed
}

// An Example is the purpose of a command line, and the command line.
type Example [2]string

// what returns the purpose of the example: a phrase that says what its command line does.
func (e Example) what() string { return e[0] }

// line returns the command line of the example.
func (e Example) line() string { return e[1] }

// commonFlags returns the flags that every command takes, also before its name.
func commonFlags() []urfave.Flag {
	return []urfave.Flag{
		&urfave.BoolFlag{Name: "json", Usage: "print JSON"},
		&urfave.StringFlag{Name: "color", Usage: "colour the output `WHEN`: auto, always or never", Value: "auto"},
		&urfave.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "print no progress"},
		&urfave.BoolFlag{Name: "help", Aliases: []string{"h"}, Usage: "show help"},
	}
}

// Link sets the Path of the command c and of all commands below c, and adds the common flags to each of these commands.
// It adds the note about whole ids to the help of each command that changes runs. parent is the Path of the group that
// has c, or "" for the root. Link must be called only once for a command.
func (c *Command) Link(parent string) {
	c.Path = strings.TrimSpace(parent + " " + c.Name)
	c.Flags = append(c.Flags, commonFlags()...)
	if c.Changes {
		c.About += "\n\n" + wholeIDs
	}
	for _, child := range c.Children {
		child.Link(c.Path)
	}
}

// Child returns the command with the given name in the group c, or nil if the group has no such command.
func (c *Command) Child(name string) *Command {
	i := slices.IndexFunc(c.Children, func(child *Command) bool { return child.Name == name })
	if i < 0 {
		return nil
	}
	return c.Children[i]
}

// visible returns the commands of a group that are not hidden, in the order of the group.
func (c *Command) visible() []*Command {
	return slices.DeleteFunc(slices.Clone(c.Children), func(child *Command) bool { return child.Hidden })
}

// line returns the command line up to its arguments, such as "git smithers worktrees prune".
func (c *Command) line() string { return strings.TrimSpace(Program + " " + c.Path) }

// usageLines returns a command line for each form in Usage, or the command line without arguments if Usage is
// empty.
func (c *Command) usageLines() []string {
	if len(c.Usage) == 0 {
		return []string{c.line()}
	}
	lines := make([]string, len(c.Usage))
	for i, form := range c.Usage {
		lines[i] = strings.TrimSpace(c.line() + " " + form)
	}
	return lines
}

// Misused returns a usage error. Its message is made of format and args, as fmt.Sprintf makes it. Its hint shows the
// forms of the command line of c.
func (c *Command) Misused(format string, args ...any) *fault.Error {
	return fault.New(fault.Usage, format, args...).Hint("usage: %s", strings.Join(c.usageLines(), " | "))
}

// check returns a usage error if a required flag is missing, or if there are too few or too many arguments.
func (c *Command) check(uc *urfave.Context) error {
	for _, flag := range c.Required {
		if !uc.IsSet(flag) {
			return c.Misused("%s needs --%s", c.Path, flag)
		}
	}
	args := uc.Args().Slice()
	kinds := c.PlaceKinds(0)
	switch {
	case len(args) < c.MinArgs && len(args) == 0 && len(kinds) > 0 && !slices.ContainsFunc(kinds, isNoRun):
		return c.NeedsRun()
	case len(args) < c.MinArgs:
		return c.Misused("%s needs %s, got %d", c.Path, plain.Count(c.MinArgs, "argument"), len(args))
	case len(args) > c.MaxArgs && c.MaxArgs == 0:
		return c.Misused("%s takes no arguments, got %q", c.Path, args[0])
	case len(args) > c.MaxArgs:
		return c.Misused("%s takes at most %s, got %d: remove %q",
			c.Path, plain.Count(c.MaxArgs, "argument"), len(args), args[c.MaxArgs])
	}
	return nil
}

// configure sets s.JSON, s.Quiet and s.Color from the flags that every command takes. The error is usage if --color
// has an unknown value.
func configure(s *session.Session, c *urfave.Context) error {
	s.JSON, s.Quiet, s.Color = c.Bool("json"), c.Bool("quiet"), c.String("color")
	switch s.Color {
	case "auto", "always", "never":
		return nil
	}
	return fault.New(fault.Usage, "--color cannot be %q", s.Color).Hint("use auto, always or never")
}

// BecameFlag returns the help text of a command whose name is old. command is the new command line, without the
// program.
func BecameFlag(command string) string {
	return "This is an old name that still works. The new name is `git smithers " + command + "`."
}
