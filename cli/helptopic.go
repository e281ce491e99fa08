package cli

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/docs"
)

// helpPages are the pages of the documentation that help shows, by what one types. Hints name
// them, since the folder docs is not installed.
var helpPages = map[string]string{
	"back": "back.md", "errors": "errors.md", "format": "format.md", "glossary": "glossary.md", "jj": "jj.md", "keeping": "keeping.md",
	"limitations": "limitations.md", "scripting": "scripting.md", "sharing": "sharing.md", "smithers": "smithers.md",
	"tables": "index.md", "workflow": "workflow.md",
}

// isHelpPage reports whether help has a page of that name.
func isHelpPage(name string) bool { return helpPages[name] != "" }

// printHelpPage prints a page of the documentation, through the pager.
func (s *session) printHelpPage(ctx context.Context, name string) error {
	text, err := docs.Pages.ReadFile(helpPages[name])
	if err != nil {
		return err
	}
	return s.paged(ctx, func() error { return s.printf("%s", text) })
}

// helpPageNames lists the pages for people.
func helpPageNames() string { return strings.Join(slices.Sorted(maps.Keys(helpPages)), ", ") }
