package cli

import (
	"context"
	"math"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// anyNumber is the maxArgs of a command that takes as many arguments as one likes.
const anyNumber = math.MaxInt

// wholeIDs is what the help of a command says that changes the runs which it names.
const wholeIDs = `A run is named by its whole id here: a prefix of the id is for reading.`

// program is what people type before the name of a command.
const program = fault.Program

// A command describes one command, or a group of them. Parsing, help, the man
// page and shell completion all derive from it.
type command struct {
	name     string
	summary  string   // one line for lists: imperative, no period
	usage    []string // what may follow the name, one line for each form
	about    string   // paragraphs, separated by empty lines; already wrapped
	minArgs  int
	maxArgs  int
	required []string // names of flags that must be given
	flags    []urfave.Flag
	examples []example
	changes  bool  // the runs that it names, or files of theirs: it takes whole ids, and its help says so
	exits    []int // the exit statuses that it can have, besides 0, 4, 70, 130 and 143
	hidden   bool
	topics   []topic    // of the root: its children in the order in which help lists them
	children []*command // of a group; one without a run needs one of them
	run      func(context.Context, *session, *urfave.Context) error

	path string // the names from the first group to this command; set by link
}

// A topic is commands that help lists under a title.
type topic struct {
	title    string // imperative, no period
	commands []*command
	more     []*command // listed by help --all alone
}

// An example is a command line and what it is for.
type example struct {
	what string
	line string
}

// commonFlags are what every command takes, also before its name.
func commonFlags() []urfave.Flag {
	return []urfave.Flag{
		&urfave.BoolFlag{Name: "json", Usage: "print JSON"},
		&urfave.StringFlag{Name: "color", Usage: "colour the output: `WHEN` is auto, always or never", Value: "auto"},
		&urfave.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "print no progress"},
		&urfave.BoolFlag{Name: "help", Aliases: []string{"h"}, Usage: "show help"},
	}
}

// tree is all commands, in the order in which help lists them.
func tree() *command {
	root := &command{
		summary: "keep the history of workflow runs in the repository they work on",
		usage:   []string{"", "<command> [<argument>...] [<flag>...]", "help [--all | <command> | <page>]"},
		about: `Alone it shows how things stand: what runs, waits for you or has failed.

Every change of a run's state is a frame: a commit under refs/smithers/. Frames are
called <run>:<frame>, such as triage-1:7; <run> alone is its newest state. To read a
run, a unique prefix of its id is enough; to change or remove it, give the whole id.`,
		examples: []example{
			{"run a workflow", "git smithers run triage.yaml"},
			{"see what happened", "git smithers timeline triage-1"},
			{"see what a step changed, in state and code", "git smithers show -p triage-1:7"},
			{"get the code back as it was before", "git smithers restore triage-1:6"},
			{"try again from before the failure", "git smithers replay triage.yaml triage-1:6"},
		},
		topics: topics(),
	}
	for _, t := range root.topics {
		root.children = append(append(root.children, t.commands...), t.more...)
	}
	root.children = append(root.children, oldNames()...)
	root.link("")
	return root
}

// topics are the commands as help lists them. Help has room for 25 in commands; the others are for upkeep, for programs
// and for Smithers.
func topics() []topic {
	return []topic{
		{
			"run workflows",
			[]*command{runCommand(), resumeCommand(), cancelCommand()},
			[]*command{checkCommand(), superviseCommand()},
		},
		{
			"answer a run that waits",
			[]*command{inboxCommand(), approveCommand(), denyCommand(), answerCommand(), signalCommand()},
			nil,
		},
		{
			"see what happened",
			[]*command{statusCommand(), runsCommand(), timelineCommand(), showCommand(), logsCommand(), diffCommand()},
			[]*command{framesCommand(), eventsCommand(), branchesCommand(), sqlCommand()},
		},
		{
			"go back, or try another way",
			[]*command{
				travelCommand(), resetCommand(), undoCommand(), forkCommand(), replayCommand(), restoreCommand(), revertCommand(),
			},
			[]*command{opsCommand(), worktreesCommand()},
		},
		{
			"share runs",
			[]*command{pushCommand(), fetchCommand()},
			[]*command{remoteCommand(), bundleCommand(), unbundleCommand()},
		},
		{"work with Smithers", nil, []*command{importCommand(), watchCommand(), exportCommand()}},
		{
			"keep them in order", nil,
			[]*command{
				initCommand(), doctorCommand(), verifyCommand(), sealCommand(), pruneCommand(), duCommand(),
			},
		},
		{"for programs", nil, []*command{captureCommand(), completionCommand(), completeCommand(), manCommand(), versionCommand()}},
	}
}

// oldNames are commands that have become a flag of another one. No list has them.
func oldNames() []*command {
	return []*command{cancelRequestCommand(), signalsCommand(), unsealCommand(), indexCommand()}
}

// becameFlag says in the help of an old name what to type now.
func becameFlag(command string) string {
	return "This is an old name, which goes on working: it is `git smithers " + command + "` now."
}

// link fills in what follows from the place of a command in the tree.
func (c *command) link(parent string) {
	c.path = strings.TrimSpace(parent + " " + c.name)
	c.flags = append(c.flags, commonFlags()...)
	if c.changes {
		c.about += "\n\n" + wholeIDs
	}
	for _, child := range c.children {
		child.link(c.path)
	}
}

// child finds a command of a group by name; nil when there is none.
func (c *command) child(name string) *command {
	i := slices.IndexFunc(c.children, func(child *command) bool { return child.name == name })
	if i < 0 {
		return nil
	}
	return c.children[i]
}

// visible are the commands of a group that help lists.
func (c *command) visible() []*command {
	return slices.DeleteFunc(slices.Clone(c.children), func(child *command) bool { return child.hidden })
}

// line is how the command is called, up to its arguments.
func (c *command) line() string { return strings.TrimSpace(program + " " + c.path) }

// usageLines are the forms of the command line.
func (c *command) usageLines() []string {
	if len(c.usage) == 0 {
		return []string{c.line()}
	}
	lines := make([]string, len(c.usage))
	for i, form := range c.usage {
		lines[i] = strings.TrimSpace(c.line() + " " + form)
	}
	return lines
}

// misused is a usage error that shows how the command is called.
func (c *command) misused(format string, args ...any) *fault.Error {
	return fault.New(fault.Usage, format, args...).Hint("usage: %s", strings.Join(c.usageLines(), " | "))
}

// check compares the command line with what the command needs and takes.
func (c *command) check(uc *urfave.Context) error {
	for _, flag := range c.required {
		if !uc.IsSet(flag) {
			return c.misused("%s needs --%s", c.path, flag)
		}
	}
	args := uc.Args().Slice()
	switch {
	case len(args) < c.minArgs:
		return c.misused("%s needs %s, got %d", c.path, plain.Count(c.minArgs, "argument"), len(args))
	case len(args) > c.maxArgs && c.maxArgs == 0:
		return c.misused("%s takes no arguments, got %q", c.path, args[0])
	case len(args) > c.maxArgs:
		return c.misused("%s takes at most %s, got %d: %q is one too many",
			c.path, plain.Count(c.maxArgs, "argument"), len(args), args[c.maxArgs])
	}
	return nil
}

// app builds the urfave application that runs the tree on s. It never prints
// and never exits: every outcome is the error that it returns.
func (c *command) app(s *session) *urfave.App {
	app := &urfave.App{
		Name: "git-smithers", HideHelp: true, HideVersion: true,
		Writer: s.Err, ErrWriter: s.Err, Reader: s.In,
		DisableSliceFlagSeparator: true,
		ExitErrHandler:            func(*urfave.Context, error) {},
		OnUsageError:              c.usageError,
	}
	for _, child := range c.children {
		app.Commands = append(app.Commands, child.build(s))
	}
	return app
}

func (c *command) build(s *session) *urfave.Command {
	out := &urfave.Command{Name: c.name, Flags: c.flags, HideHelp: true, OnUsageError: c.usageError}
	for _, child := range c.children {
		out.Subcommands = append(out.Subcommands, child.build(s))
	}
	if c.run != nil {
		out.Action = func(uc *urfave.Context) error {
			if err := s.configure(uc); err != nil {
				return err
			}
			if err := c.check(uc); err != nil {
				return err
			}
			return c.run(uc.Context, s, uc)
		}
	}
	return out
}

// usageError turns what urfave found wrong with a flag into our own words.
func (c *command) usageError(_ *urfave.Context, err error, _ bool) error {
	return c.misused("%s", c.describeFlagError(err))
}

// describeFlagError rewrites the flag package's `invalid value "x" for flag -frame: …`.
func (c *command) describeFlagError(err error) string {
	text := err.Error()
	value, rest, ok := strings.Cut(strings.TrimPrefix(text, "invalid value "), " for flag -")
	if !ok {
		value, rest, ok = strings.Cut(strings.TrimPrefix(text, "invalid boolean value "), " for -")
	}
	if !ok {
		return text
	}
	name, reason, _ := strings.Cut(rest, ":")
	if strings.Contains(reason, "parse error") || strings.Contains(reason, "ParseBool") {
		reason = " it takes " + c.flagTakes(name)
	}
	return "--" + name + " does not take " + value + ":" + reason
}

// flagTakes says what kind of value a flag takes.
func (c *command) flagTakes(name string) string {
	switch c.flag(name).(type) {
	case *urfave.IntFlag, *urfave.Int64Flag:
		return "a whole number"
	case *urfave.BoolFlag:
		return "true or false"
	}
	return "another kind of value"
}
