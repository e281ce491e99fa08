package runpage

import (
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/plain"
)

// failure writes which step failed, the end of what it printed, and the last change of files before it.
func (v *page) failure(c *canvas) {
	f := v.Failure
	if f == nil {
		return
	}
	c.WriteByte('\n')
	reason := WithoutCode(f.Error)
	if f.Step == nil {
		c.line(part{c.g.Failed + " the run failed: " + reason, term.Bold + ";" + term.Red})
		v.unread(c, summary.PartFailure)
		return
	}
	where := ""
	if f.Step.Loop != nil {
		where = fmt.Sprintf("iteration %d of %s, ", f.Step.Iteration, *f.Step.Loop)
	}
	tries := "failed"
	if f.Tries > 1 {
		tries = fmt.Sprintf("failed %d times", f.Tries)
	}
	c.line(part{c.g.Failed + " ", term.Red}, part{f.Step.NodeID + "  " + where + tries + ": " + reason, term.Bold})
	bar := part{"  " + c.g.Bar + " ", term.Grey}
	if cut := f.LogLines - len(f.Log); cut > 0 {
		c.line(bar, part{c.g.Dots + " " + plain.Count(cut, "line") + " above", term.Grey})
	}
	for _, text := range f.Log {
		style := ""
		if looksLikeError(text) {
			style = term.Red
		}
		c.line(bar, part{strings.ReplaceAll(text, "\t", "    "), style})
	}
	v.unread(c, summary.PartLog)
	for i, step := range f.Also {
		if i == alsoShown {
			c.line(part{"  and " + plain.Count(len(f.Also)-alsoShown, "other failed step"), ""})
			break
		}
		c.line(part{"  " + c.g.Failed + " ", term.Red}, part{step.Name() + " failed, too: " + WithoutCode(step.Error), ""})
	}
	if change := f.Change; change != nil {
		by := ""
		if change.Step != nil {
			by = *change.Step + ", "
		}
		what := fmt.Sprintf("  last change before it  %sframe %d: %s ", by, change.Frame, plain.Count(change.Files, "file"))
		c.line(append([]part{{what, ""}}, c.codeParts(change.Added, change.Removed, 0)...)...)
	}
	v.unread(c, summary.PartFailure)
}

// alsoShown is how many steps are shown that failed beside the first.
const alsoShown = 5

// WithoutCode returns an error of an attempt without its code: "code: reason" becomes "reason".
func WithoutCode(text string) string {
	code, reason, found := strings.Cut(text, ": ")
	if found && strings.Trim(code, "abcdefghijklmnopqrstuvwxyz_") == "" {
		return reason
	}
	return text
}

// looksLikeError reports whether a line of a log begins as an error does.
func looksLikeError(text string) bool {
	text = strings.ToLower(strings.TrimLeft(text, " \t"))
	for _, begin := range []string{"not ok", "error", "fatal", "panic:", "fail", "traceback", "uncaught"} {
		if strings.HasPrefix(text, begin) {
			return true
		}
	}
	return false
}
