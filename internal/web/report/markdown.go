package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/internal/app/report"
	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

const (
	markdownRows  = 20    // rows of a table
	markdownLog   = 40    // lines of a log
	markdownLine  = 200   // characters of a line of a log
	markdownBytes = 60000 // of a whole text: a comment at GitHub has at most 65,536 characters
)

// Markdown returns a report for a comment or the summary of a CI job: for each run a sentence, the table of its newest steps, and the
// end of the log of what failed.
//
// Stored texts stand in code alone. There, mentions, references to issues, links and HTML are only text.
func Markdown(r *report.Report) []byte {
	var out strings.Builder
	for i, run := range r.Runs {
		var b strings.Builder
		m := markdown{&b}
		m.run(run)
		if out.Len()+b.Len() > markdownBytes {
			fmt.Fprintf(&out, "\n%s more: %s\n", count(len(r.Runs)-i, "run"), code(fault.CommandLine(fault.Program, "show", run.ID)))
			break
		}
		if i > 0 {
			out.WriteByte('\n')
		}
		out.WriteString(b.String())
	}
	if r.Secrets > 0 {
		fmt.Fprintf(&out, "\n%s shown as placeholders.\n", count(r.Secrets, "secret"))
	}
	return []byte(out.String())
}

// markdown writes one run.
type markdown struct{ *strings.Builder }

// printf writes text.
func (m markdown) printf(format string, args ...any) { fmt.Fprintf(m.Builder, format, args...) }

// run writes a run.
func (m markdown) run(r *report.Run) {
	name := code(r.ID)
	if r.Name != "" {
		name = code(r.Name) + " (" + name + ")"
	}
	ours, stored := verdict(r)
	m.printf("### %s %s %s%s\n\n", lookOf(r.State).Glyph, name, ours, code(stored))
	m.sentence(r)
	m.table(r)
	if r.Together != nil {
		m.printf("\n%s by steps that ran at the same time.\n", together(r.Together))
	}
	if sh := r.Shared; sh != nil {
		m.printf("\n%s worked in the same folder, so these changes may be theirs: %s\n", code(sh.Who), code(sh.Files))
	}
	if f := r.Failure; f != nil && f.Log != nil {
		m.log(f.Log)
	}
	m.stat(r)
	for _, w := range r.Waits {
		m.printf("\nWaits for %s: %s %s\n", waitWord(w.For), code(w.Step), code(w.What))
	}
	if len(r.Next) > 0 {
		m.printf("\nNext: %s\n", code(r.Next[0].Line))
	}
}

// sentence writes the sentence about a run, with the size of its changes.
func (m markdown) sentence(r *report.Run) {
	m.printf("%s", code(r.Workflow))
	if r.Branch != "" {
		m.printf(" on %s", code(r.Branch))
	}
	if r.Commit != "" {
		m.printf(" at %s", code(short(r.Commit)))
	}
	m.printf(", %s, %s, %s.", moment(r.StartMs), length(r.TookMs), count(r.Frames, "frame"))
	if f := r.Failure; f != nil {
		if f.Step != "" {
			m.printf(" %s failed%s: %s.", code(f.Step), times(f.Tries), code(reason(f.Error)))
		}
		if c := f.Change; c != nil {
			m.printf(" %s changed files last (%s): %s.", cmp.Or(code(c.Step), "A frame"), code(c.Address), stat(c.Code))
		}
		if b := f.Better; b != nil {
			name := code(b.ID)
			if b.Name != "" {
				name = code(b.Name) + " (" + name + ")"
			}
			m.printf(" The step finished in the fork %s; it %s.", name, forkNow(b))
		}
	}
	if u := r.Usage; u != nil {
		m.printf(" %s tokens", number(u.Tokens))
		if u.CostUSD > 0 {
			m.printf(", %s", plain.Cost(u.CostUSD))
		}
		for i, of := range u.Models {
			m.printf("%s %s %s", []string{":", ","}[min(i, 1)], code(of.Name), number(of.Tokens))
			if of.CostUSD > 0 {
				m.printf(" (%s)", plain.Cost(of.CostUSD))
			}
		}
		m.printf(".")
	}
	if scores := scoresOf(r); scores != "" {
		m.printf(" Scores: %s.", code(scores))
	}
	if forks := forksOf(r); forks != "" {
		m.printf(" %s.", forks)
	}
	m.printf("\n\n")
}

// length returns a length of time for Markdown.
func length(ms int64) string { return strings.ReplaceAll(took(ms), "<", "&lt;") }

// stat returns counts of files and lines.
func stat(c summary.Code) string {
	return strings.TrimSpace(count(c.Files, "file") + " " + lines(c.Added, c.Removed))
}

// lines returns numbers of changed lines, such as "+3 −1". A side that is 0 is left out.
func lines(added, removed int64) string {
	var sides []string
	if added > 0 {
		sides = append(sides, "+"+number(added))
	}
	if removed > 0 {
		sides = append(sides, "−"+number(removed))
	}
	return strings.Join(sides, " ")
}

// together returns the lines that steps changed together.
func together(c *summary.Code) string {
	return cmp.Or(lines(c.Added, c.Removed), "Changed files")
}

// table writes the table of steps.
func (m markdown) table(r *report.Run) {
	rows := report.FoldRows(r.Rows, markdownRows)
	if len(rows) == 0 {
		return
	}
	m.printf("| | Step | Try | Output | Code | Took |\n|---|---|--:|---|--:|--:|\n")
	for _, row := range rows {
		if row.Folded > 0 {
			m.printf("| | ⋯ %s more | | | | |\n", count(row.Folded, "row"))
			continue
		}
		name, try, long, changed := row.Step, "", "", ""
		switch {
		case r.Session:
			name = fmt.Sprintf("%s %d", row.Step, row.Iteration)
		case row.Loop:
			name = fmt.Sprintf("%s iteration %d", row.Step, row.Iteration)
		}
		said := cell(reason(row.Text))
		if said == "" && len(row.After) > 0 {
			said = "after " + cell(strings.Join(row.After, ", "))
		}
		if row.Attempt > 0 {
			try, long = number(row.Attempt), length(row.TookMs)
			if row.Wait {
				long = "waited " + long
			}
		}
		if row.Lines != nil {
			changed = lines(row.Lines.Added, row.Lines.Removed)
		}
		task := cell(name)
		if row.Label != "" {
			task += " " + cell(row.Label)
		}
		look := lookOf(row.State)
		m.printf("| %s %s | %s | %s | %s | %s | %s |\n", look.Glyph, look.Word, task, try, said, changed, long)
	}
}

// log writes the end of a log in a fence that no line of it closes.
func (m markdown) log(p *report.Part) {
	shownLines := p.Lines[max(len(p.Lines)-markdownLog, 0):]
	var text strings.Builder
	longest := 2
	for _, l := range shownLines {
		line := shown(l.Text)
		if runes := []rune(line); len(runes) > markdownLine {
			line = string(runes[:markdownLine]) + "…"
		}
		longest = max(longest, backticks(line))
		text.WriteString(line + "\n")
	}
	fence := strings.Repeat("`", longest+1)
	m.printf("\nThe end of the log of %s", code(p.Title))
	if left := p.Left + len(p.Lines) - len(shownLines); left > 0 {
		m.printf(", without the first %s", count(left, "line"))
	}
	m.printf(":\n\n%stext\n%s%s\n", fence, text.String(), fence)
}

// stat writes how the files have changed.
func (m markdown) stat(r *report.Run) {
	if r.Code.Files == 0 {
		return
	}
	m.printf("\nAll changes: %s", stat(r.Code))
	for i, f := range r.Files[:min(len(r.Files), markdownRows)] {
		changed := "not counted"
		if f.Counted {
			changed = cmp.Or(lines(f.Added, f.Removed), count(0, "file"))
		}
		m.printf("%s %s %s", map[bool]string{true: ":", false: ","}[i == 0], code(f.Path), changed)
	}
	if more := max(len(r.Files)-markdownRows, 0) + r.MoreFiles; more > 0 {
		m.printf(" and %s more", number(more))
	}
	m.printf(".\n")
}

// backticks returns the length of the longest run of backticks in a text.
func backticks(text string) int {
	longest, n := 0, 0
	for _, r := range text {
		if r != '`' {
			n = 0
			continue
		}
		n++
		longest = max(longest, n)
	}
	return longest
}

// code returns a stored text as code on one line, or nothing for no text.
func code(text string) string {
	text = strings.TrimSpace(shown(strings.Join(strings.Fields(text), " ")))
	if text == "" {
		return ""
	}
	mark := strings.Repeat("`", backticks(text)+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return mark + text + mark
}

// cell returns a stored text as code in a table.
func cell(text string) string { return strings.ReplaceAll(code(text), "|", `\|`) }
