package arg

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/timeline/fault"
)

// An exitStatus is a status of the process and what it means.
type exitStatus struct {
	status  int
	meaning string
}

// exitStatuses returns all exit statuses, in the order of their numbers.
func exitStatuses() []exitStatus {
	return []exitStatus{
		{fault.ExitOK, "success"},
		{fault.ExitFailed, "the run failed, or something could not be read or written"},
		{fault.ExitCancelled, "the run was cancelled"},
		{fault.ExitWaiting, "the run waits: for a person, a signal or a timer"},
		{fault.ExitUsage, "wrong command line or input"},
		{fault.ExitNotFound, "repository, working copy, workflow, run, frame, node, attempt or request not found"},
		{fault.ExitConflict, "another process changed or owns the run, or work would be lost; nothing was changed"},
		{fault.ExitCorrupt, "stored data failed verification"},
		{fault.ExitTooNew, "needs a newer git, jj or git-smithers, or another kind of repository"},
		{fault.ExitBug, "a bug in git-smithers"},
		{fault.ExitInterrupt, "interrupted"},
		{fault.ExitTerminate, "terminated"},
	}
}

// statuses returns the exit statuses that help shows for the command c, in the order of their numbers. These are the
// statuses that every command can have, and the statuses in c.Exits. For a group that cannot be run, statuses returns
// nil.
func (c *Command) statuses() []exitStatus {
	if c.Run == nil {
		return nil
	}
	always := []int{fault.ExitOK, fault.ExitUsage, fault.ExitBug, fault.ExitInterrupt, fault.ExitTerminate}
	return slices.DeleteFunc(exitStatuses(), func(e exitStatus) bool {
		return !slices.Contains(always, e.status) && !slices.Contains(c.Exits, e.status)
	})
}

// Reads returns the exit statuses of commands that read history, for Command.Exits.
func Reads() []int {
	return []int{fault.ExitFailed, fault.ExitNotFound, fault.ExitCorrupt, fault.ExitTooNew}
}

// Writes returns the exit statuses of commands that write history, for Command.Exits. These are the statuses of Reads
// and ExitConflict.
func Writes() []int { return append(Reads(), fault.ExitConflict) }

// Runs returns the exit statuses of commands that run workflows, for Command.Exits. These are the statuses of Writes,
// ExitCancelled and ExitWaiting.
func Runs() []int { return append(Writes(), fault.ExitCancelled, fault.ExitWaiting) }

// A flagHelp is a flag as help, the man page and completion show it.
type flagHelp struct {
	short string // "" for none
	long  string
	value string // the placeholder of the value; "" for a boolean
	usage string
}

// flagHelps returns the flags of the command c as help shows them: first the flags of c itself, and then the common
// flags. The value of a flag is the word in backquotes in its usage, or VALUE. A flag that takes no value has the value
// "".
func (c *Command) flagHelps() []flagHelp {
	var out []flagHelp
	for _, flag := range c.Flags {
		documented, ok := flag.(urfave.DocGenerationFlag)
		if !ok {
			continue
		}
		h := flagHelp{long: LongName(flag)}
		for _, name := range flag.Names() {
			if len(name) == 1 {
				h.short = name
			}
		}
		h.value, h.usage = placeholder(documented.GetUsage())
		if !documented.TakesValue() {
			h.value = ""
		} else {
			h.value = cmp.Or(h.value, "VALUE")
		}
		out = append(out, h)
	}
	return out
}

// placeholder splits the usage of a flag. name is the word in backquotes, the placeholder for the value of the flag; it
// is "" if usage has no backquotes. text is the usage without the backquotes.
func placeholder(usage string) (name, text string) {
	before, rest, ok := strings.Cut(usage, "`")
	if !ok {
		return "", usage
	}
	name, after, _ := strings.Cut(rest, "`")
	return name, before + name + after
}

// spelling returns a flag as people type it, for example "-n, --node ID". A flag without a short name is indented, so
// that the long names of all flags are aligned.
func (h flagHelp) spelling() string {
	s := "    --" + h.long
	if h.short != "" {
		s = "-" + h.short + ", --" + h.long
	}
	if h.value != "" {
		s += " " + h.value
	}
	return s
}

// PrintHelp prints the help of a command or a group to w. If all is true, the list of commands includes the commands in
// Topic.More.
func (c *Command) PrintHelp(w io.Writer, all bool) error {
	var b strings.Builder
	title := c.Summary
	if c.Path == "" {
		title = Program + ": " + title
	} else {
		title = strings.ToUpper(title[:1]) + title[1:]
	}
	fmt.Fprintf(&b, "%s\n\nUSAGE\n", title)
	for _, line := range c.usageLines() {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	examples := exampleLines(c.Examples)
	if c.Path == "" { // the first thing that people need
		section(&b, "BEGIN WITH", columns(c.Examples, func(e Example) (string, string) { return e.line(), e.what() }))
		examples = nil
	}
	section(&b, "DESCRIPTION", strings.Split(c.About, "\n"))
	section(&b, "COMMANDS", c.commandLines(all))
	section(&b, "FLAGS", columns(c.flagHelps(), func(h flagHelp) (string, string) {
		return h.spelling(), h.usage
	}))
	section(&b, "EXAMPLES", examples)
	section(&b, "EXIT STATUS", columns(c.statuses(), func(e exitStatus) (string, string) {
		return fmt.Sprintf("%3d", e.status), e.meaning
	}))
	if len(c.Children) > 0 {
		fmt.Fprintf(&b, "\n`%s <command> -h` shows the help of a command.\n", c.line())
	}
	if len(c.Topics) > 0 && !all {
		b.WriteString("`git smithers help back` compares the ways to go back.\n" +
			"`git smithers help --all` also lists the commands for upkeep, programs and Smithers.\n")
	}
	if c.Path == "" {
		fmt.Fprintf(&b, "`%s help <page>` shows a page of the documentation:\n%s.\n", Program, helpPageNames())
		fmt.Fprintf(&b, "`%[1]s man --install` installs the man page, if `%[1]s --help` finds none.\n", Program)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// commandLines returns the lines that list the commands of a group with their summaries. If the group has topics, the
// commands are indented below the titles of the topics, with an empty line between two topics. If all is true, each
// topic also has the commands in its field More.
func (c *Command) commandLines(all bool) []string {
	line := func(child *Command) (string, string) { return child.Name, child.Summary }
	if len(c.Topics) == 0 {
		return columns(c.visible(), line)
	}
	var listed []*Command
	first := make(map[*Command]string) // by the first command of a topic: the title of the topic
	for _, t := range c.Topics {
		commands := slices.Clone(t.Commands)
		if all {
			commands = append(commands, t.More...)
		}
		commands = slices.DeleteFunc(commands, func(child *Command) bool { return child.Hidden })
		if len(commands) > 0 {
			first[commands[0]] = t.Title
		}
		listed = append(listed, commands...)
	}
	var out []string
	for i, text := range columns(listed, line) {
		if title, ok := first[listed[i]]; ok {
			if i > 0 {
				out = append(out, "")
			}
			out = append(out, title)
		}
		out = append(out, "  "+text)
	}
	return out
}

// section writes lines under title. If there are no lines, or if the only line is empty, it writes nothing.
func section(b *strings.Builder, title string, lines []string) {
	if len(lines) == 0 || len(lines) == 1 && lines[0] == "" {
		return
	}
	fmt.Fprintf(b, "\n%s\n", title)
	for _, line := range lines {
		b.WriteString(strings.TrimRight("  "+line, " ") + "\n")
	}
}

// columns returns a line with two texts for each item. pair returns the two texts of an item. The second texts of all
// lines begin in the same column.
func columns[T any](items []T, pair func(T) (string, string)) []string {
	width := 0
	for _, item := range items {
		left, _ := pair(item)
		width = max(width, len(left))
	}
	lines := make([]string, len(items))
	for i, item := range items {
		left, right := pair(item)
		lines[i] = fmt.Sprintf("%-*s  %s", width, left, right)
	}
	return lines
}

// exampleLines returns two lines for each example, its purpose and its command line, with an empty line between two
// examples.
func exampleLines(examples []Example) []string {
	var lines []string
	for i, e := range examples {
		if i > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, "# "+e.what(), "$ "+e.line())
	}
	return lines
}
