package agents

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
)

const (
	// shownText is the size of the longest prompt or answer that a brief has whole, in bytes.
	shownText = 8000
	// shownFiles is the number of files that a brief names.
	shownFiles = 50
)

// briefText returns a brief in Markdown.
func briefText(b *agent.Brief) string {
	var out strings.Builder
	fmt.Fprintf(&out, "# %s\n\n%s, frame %d.\n", cmp.Or(plain.Text(b.Title), "A session without a prompt"), plain.Text(b.At.Run), b.At.Frame)
	if len(b.Todos) > 0 {
		out.WriteString("\n## Todos\n\n")
	}
	for _, todo := range b.Todos {
		box, note := " ", ""
		if todo.Done {
			box = "x"
		}
		if todo.Active {
			note = " (in progress)"
		}
		fmt.Fprintf(&out, "- [%s] %s%s\n", box, plain.Text(todo.Content), note)
	}
	writeWork(&out, b)
	writeGit(&out, b.Git)
	if b.Summary != "" {
		fmt.Fprintf(&out, "\n## Last answer\n\n%s", quoted(b.Summary))
	}
	return out.String()
}

// writeWork writes what was asked for and done.
func writeWork(out *strings.Builder, b *agent.Brief) {
	out.WriteString("\n## Work\n\n")
	if b.Turn > 0 {
		fmt.Fprintf(out, "Turn %d (%s):\n\n%s\n", b.Turn, cmp.Or(b.State, "unknown"), quoted(b.Prompt))
	}
	var tools []string
	for _, tool := range b.Tools {
		text := fmt.Sprintf("%s %d", plain.Text(tool.Tool), tool.Calls)
		if tool.Failed > 0 {
			text += fmt.Sprintf(" (%d failed)", tool.Failed)
		}
		tools = append(tools, text)
	}
	fmt.Fprintf(out, "Tool calls so far: %s.\n", cmp.Or(strings.Join(tools, ", "), "none"))
	switch {
	case len(b.Files) > 0 && b.Bare:
		out.WriteString("Files that calls have changed, as they name them (no files were captured):\n\n")
	case b.Bare:
		out.WriteString("Files changed so far: not known, because no files were captured.\n")
	case len(b.Files) == 0:
		out.WriteString("Files changed so far: none.\n")
	default:
		out.WriteString("Files changed so far:\n\n")
	}
	for _, file := range b.Files[:min(len(b.Files), shownFiles)] {
		lines := " (lines not counted)"
		if b.Bare {
			lines = ""
		} else if file.Added != nil && file.Removed != nil {
			lines = fmt.Sprintf(" (+%d -%d)", *file.Added, *file.Removed)
		}
		fmt.Fprintf(out, "- %s%s\n", plain.Text(file.Path), lines)
	}
	if more := len(b.Files) - shownFiles; more > 0 {
		fmt.Fprintf(out, "- and %d more\n", more)
	}
}

// writeGit writes where the working copy stood.
func writeGit(out *strings.Builder, g agent.GitState) {
	if g.Branch == nil && g.Head == nil {
		return
	}
	out.WriteString("\n## Git\n\n")
	if g.Branch != nil {
		fmt.Fprintf(out, "- branch: %s\n", plain.Text(*g.Branch))
	}
	if g.Head != nil {
		fmt.Fprintf(out, "- commit: %s\n", plain.Text(*g.Head))
	}
	if g.Dirty != nil && *g.Dirty {
		out.WriteString("- the files had changes that were not committed\n")
	}
}

// changesText returns the changes that a replay would make in Markdown, or "" if there are none.
func changesText(changes []jjbridge.PathChange) string {
	if len(changes) == 0 {
		return ""
	}
	var out strings.Builder
	out.WriteString("\n## What a replay would change\n\n")
	for _, change := range changes {
		fmt.Fprintf(&out, "- %s %s\n", change.Op, plain.Text(snapshot.EscapePath(change.Path)))
	}
	return out.String()
}

// quoted returns a text as a quotation in Markdown, so that its headings are not those of the brief. A long text is cut.
func quoted(text string) string {
	var out strings.Builder
	for _, line := range plain.Lines(plain.Cut(text, shownText)) {
		out.WriteString(strings.TrimRight("> "+line, " ") + "\n")
	}
	return out.String()
}
