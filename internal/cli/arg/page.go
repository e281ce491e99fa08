package arg

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/docs"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// helpPages maps the name that a user types to the file of a page of the documentation. Hints use these names, because
// the folder docs is not installed.
var helpPages = map[string]string{
	"authors": "blame.md", "back": "back.md", "bisecting": "bisect.md", "ci": "ci.md", "courses": "courses.md", "errors": "errors.md", "format": "format.md",
	"glossary": "glossary.md", "jj": "jj.md", "keeping": "keeping.md", "langgraph": "langgraph.md", "limitations": "limitations.md",
	"protocol": "serve.md", "recipes": "recipes.md", "removing": "removing.md", "scripting": "scripting.md", "searching": "search.md",
	"secrets": "secrets.md", "sessions": "sessions.md", "sharing": "sharing.md", "smithers": "smithers.md", "sweeps": "sweep.md", "tables": "index.md",
	"view": "tui.md", "workflow": "workflow.md", "workflow-reference": "workflow-reference.md",
}

// isHelpPage reports whether the help has a page with the given name.
func isHelpPage(name string) bool { return helpPages[name] != "" }

// helpTakesOne returns the usage error for a call of help with two names. topic is the first name, which is a command
// or page. word is the second name.
func helpTakesOne(topic, word string) error {
	return fault.New(fault.Usage, "help takes one command or page: remove %q or %s", word, topic).
		Hint("`%s` shows the help of %s", fault.CommandLine(Program+" help", strings.Fields(topic)...), topic)
}

// unknownHelp returns unknown_command for help about a name that is neither a command nor a page. Its hint is the
// nearest name. If no name is near, its hints list the commands and the pages.
func unknownHelp(root *Command, name string) error {
	out := fault.New(fault.UnknownCommand, "no command or page of help is called %q", name).Detail("command", name)
	pages := slices.Sorted(maps.Keys(helpPages))
	var commands []string
	for _, child := range root.visible() {
		commands = append(commands, child.Name)
	}
	if lines := slices.DeleteFunc(root.meant(name), func(line string) bool { return strings.Contains(line, " -") }); (otherWords[name] != nil || root.grandchild(name) != "") && len(lines) > 0 {
		return out.Hint("did you mean %s?", alternatives(Program+" help", lines))
	}
	if near, ok := plain.Nearest(name, slices.Concat(commands, pages)); ok {
		return out.Hint("did you mean `%s`?", fault.CommandLine(Program, "help", near))
	}
	return out.Hint("the commands are %s", strings.Join(commands, ", ")).Hint("the pages are %s", helpPageNames())
}

// PrintHelpPage prints a page of the documentation through the pager. name is the name of a page for which isHelpPage
// returns true.
func PrintHelpPage(ctx context.Context, s *session.Session, name string) error {
	text, err := docs.Pages.ReadFile(helpPages[name])
	if err != nil {
		return err
	}
	return s.Paged(ctx, func() error { return s.Printf("%s", text) })
}

// helpPageNames returns the names of the pages, sorted and separated by commas.
func helpPageNames() string { return strings.Join(slices.Sorted(maps.Keys(helpPages)), ", ") }
