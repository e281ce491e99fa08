package arg

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/cli/session"
	"github.com/git-smithers/git-smithers/docs"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// helpPages has the pages of the documentation that help shows, by the name to type. Hints name these pages, since the
// folder docs is not installed.
var helpPages = map[string]string{
	"back": "back.md", "errors": "errors.md", "format": "format.md", "glossary": "glossary.md", "jj": "jj.md", "keeping": "keeping.md",
	"limitations": "limitations.md", "scripting": "scripting.md", "sharing": "sharing.md", "smithers": "smithers.md",
	"tables": "index.md", "workflow": "workflow.md",
}

// isHelpPage reports whether help has a page of that name.
func isHelpPage(name string) bool { return helpPages[name] != "" }

// helpTakesOne returns the error for a word after the command or page that help names.
func helpTakesOne(topic, word string) error {
	return fault.New(fault.Usage, "help takes one command or page: remove %q or %s", word, topic).
		Hint("`%s`", fault.CommandLine(Program+" help", strings.Fields(topic)...))
}

// unknownHelp returns the error for help about a name that is neither a command nor a page. Its hints name the commands and
// the pages.
func unknownHelp(root *Command, name string) error {
	out := fault.New(fault.UnknownCommand, "no command or page of help is called %q", name).Detail("command", name)
	pages := slices.Sorted(maps.Keys(helpPages))
	var commands []string
	for _, child := range root.visible() {
		commands = append(commands, child.Name)
	}
	if near, ok := Nearest(name, slices.Concat(commands, pages)); ok {
		return out.Hint("did you mean `%s`?", fault.CommandLine(Program, "help", near))
	}
	return out.Hint("the commands are %s", strings.Join(commands, ", ")).Hint("the pages are %s", helpPageNames())
}

// PrintHelpPage prints a page of the documentation, through the pager.
func PrintHelpPage(ctx context.Context, s *session.Session, name string) error {
	text, err := docs.Pages.ReadFile(helpPages[name])
	if err != nil {
		return err
	}
	return s.Paged(ctx, func() error { return s.Printf("%s", text) })
}

// helpPageNames lists the pages for people.
func helpPageNames() string { return strings.Join(slices.Sorted(maps.Keys(helpPages)), ", ") }
