package app

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/timeline"
)

// PullRequest is the title and the body of a pull request. The body is Markdown.
type PullRequest struct{ Title, Body string }

// mostFiles is how many changed files the body of a pull request names.
const mostFiles = 100

// PullRequest returns a pull request for what req lands. It changes nothing.
func (d *Desk) PullRequest(ctx context.Context, req LandRequest) (*PullRequest, error) {
	steps, at, err := d.landSteps(ctx, req, timeline.ToRead)
	if err != nil {
		return nil, err
	}
	sum, err := d.summaryOf(ctx, at)
	if err != nil {
		return nil, err
	}
	var body strings.Builder
	if sum.dialogue != nil {
		fmt.Fprintf(&body, "## Prompts\n\n")
		for i, turn := range sum.dialogue.Turns {
			if i == mostPrompts {
				fmt.Fprintf(&body, "\nand %d more\n", len(sum.dialogue.Turns)-i)
				break
			}
			fmt.Fprintf(&body, "%d. %s\n", turn.Number, markdown(shortPrompt(turn)))
		}
	} else {
		fmt.Fprintf(&body, "## Summary\n\nRun %s of %s: %s.\n\n", markdown(oneLine(sum.row.ID)), markdown(oneLine(sum.row.Workflow)), sum.row.Status)
		for i, task := range sum.tasks {
			if i == mostPrompts {
				fmt.Fprintf(&body, "\nand %d more\n", len(sum.tasks)-i)
				break
			}
			fmt.Fprintf(&body, "- %s: %s\n", markdown(task.key), markdown(task.state))
		}
	}
	heading := "\n## Files\n\n"
	for _, step := range steps {
		changes, err := files.ChangedFiles(ctx, d.Store.Objects(), step.From.VCS().Tree, step.To.VCS().Tree, "")
		if err != nil {
			return nil, timeline.Explain(err)
		}
		changes = slices.DeleteFunc(changes, func(c jjbridge.PathChange) bool { return jjbridge.IsLeftOut(step.To.VCS().LeftOut, c.Path) })
		if len(changes) > 0 {
			body.WriteString(heading)
			heading = ""
		}
		for i, change := range changes {
			if i == mostFiles {
				fmt.Fprintf(&body, "- and %d more\n", len(changes)-i)
				break
			}
			fmt.Fprintf(&body, "- %s %s\n", change.Op, markdown(plain.Text(sum.hide(change.Path))))
		}
	}
	body.WriteString("\n" + trailers(at, req.Worktrees, ""))
	title := sum.subject()
	if req.Message != "" {
		title = plain.Shorten(firstLine(req.Message), subjectWidth)
	}
	return &PullRequest{Title: title, Body: body.String()}, nil
}

// markdown returns text on one line that Markdown shows as it is. Nobody is mentioned, and no HTML is made.
func markdown(text string) string {
	var out strings.Builder
	for i, r := range text {
		switch {
		case r == '@':
			out.WriteString("&#64;") // a backslash does not stop a mention
			continue
		case strings.ContainsRune("\\`*_[]<>#|~&$", r),
			(r == '-' || r == '+') && i == 0,                                              // a list
			r == ':' && i+1 < len(text) && text[i+1] != ' ',                               // an emoji, or a link
			(r == '.' || r == ')') && i > 0 && strings.Trim(text[:i], "0123456789") == "": // a numbered list
			out.WriteByte('\\')
		}
		out.WriteRune(r)
	}
	return out.String()
}
