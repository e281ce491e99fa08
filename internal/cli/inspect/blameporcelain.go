package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/app/blame"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// printBlamePorcelain prints a file in the form of git blame --porcelain. A frame has the id of its commit, and further headers.
func printBlamePorcelain(s *session.Session, store *timeline.Store, file *blame.File) error {
	shown := func(text string) string { return text }
	if s.IsTerminalOut() {
		shown = shownLine
	}
	seen := make(map[*blame.Writer]bool)
	for _, r := range file.Ranges {
		id := cmp.Or(r.Writer.Commit, strings.Repeat("0", 2*objstore.HashOf(store.Objects()).Size()))
		for n, text := range r.Text {
			head := fmt.Sprintf("%s %d %d", id, r.OriginalStart+n, r.Start+n)
			if n == 0 {
				head += fmt.Sprintf(" %d\n", len(r.Text))
				if !seen[r.Writer] {
					head += strings.Join(blameHeaders(r.Writer), "\n") + "\n"
				}
				if seen[r.Writer] = true; r.Landed != "" {
					head += "smithers-landed " + r.Landed + "\n"
				}
				head += "filename " + blamePath(r.OriginalPath)
			}
			if err := s.Printf("%s\n\t%s\n", plainHeads(head), shown(text)); err != nil {
				return err
			}
		}
	}
	return nil
}

// plainHeads escapes headers, which are lines.
func plainHeads(text string) string { return strings.Join(plain.Lines(text), "\n") }

// blamePath returns a path as git prints it.
func blamePath(path string) string {
	if text := plain.Text(path); text != path || strings.ContainsAny(path, "\"\\") {
		return strconv.Quote(path)
	}
	return path
}

// blameHeaders returns the headers of a writer.
func blameHeaders(w *blame.Writer) []string {
	if w.Kind == blame.Commit {
		headers := slices.Clone(w.Headers)
		for _, address := range w.NotHere {
			headers = append(headers, "smithers-not-here "+plain.Text(address))
		}
		return headers
	}
	name, mail, summary := "Not Committed Yet", "<not.committed.yet>", "Not committed"
	if w.Kind != blame.Uncommitted {
		name, mail, summary = plain.Text(w.Address().String()), "<"+plain.Text(w.Run)+">", plain.Text(w.Subject)
	}
	var headers []string
	for _, role := range []string{"author", "committer"} {
		headers = append(headers, role+" "+name, role+"-mail "+mail, fmt.Sprintf("%s-time %d", role, w.AtMs/1000), role+"-tz +0000")
	}
	headers = append(headers, "summary "+summary)
	add := func(name, text string) {
		if text != "" {
			headers = append(headers, "smithers-"+name+" "+plain.Text(text))
		}
	}
	if w.Kind == blame.Uncommitted {
		return headers
	}
	add("kind", string(w.Kind))
	add("frame", w.Address().String())
	add("worktree", w.Worktree)
	for _, a := range w.Attempts {
		add("attempt", snapshot.AttemptKey(a.NodeID, a.Iteration, a.Attempt))
	}
	if w.Since != nil {
		add("since", strconv.FormatInt(*w.Since, 10))
	}
	for _, run := range w.Shared {
		add("shared-with", run)
	}
	if w.Turn > 0 {
		add("turn", strconv.Itoa(w.Turn))
	}
	add("prompt", w.Prompt)
	for _, call := range w.Calls {
		add("call", strings.TrimSpace(call.ID+" "+call.Tool))
	}
	return headers
}
