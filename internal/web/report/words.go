package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/app/report"
	"github.com/git-smithers/git-smithers/internal/plain"
)

// moment returns a time in UTC, to the second.
func moment(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05") + " UTC" }

// minute returns a time in UTC for people, to the minute.
func minute(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04") + " UTC" }

// took returns a length of time in at most two units.
func took(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	switch {
	case ms < 1:
		return "< 1 ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", ms)
	case d < time.Minute-50*time.Millisecond:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	switch d = d.Round(time.Second); {
	case d < time.Hour:
		return fmt.Sprintf("%dm %02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh %02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd %dh", int(d.Hours())/24, int(d.Hours())%24)
}

// worked returns how long a run worked and waited.
func worked(r *report.Run) string {
	const slack = 20 // what is no more than one in slack is not worth a word
	switch all := r.EndMs - r.StartMs; {
	case r.WaitedMs > 0:
		return took(r.TookMs) + " of work and " + took(r.WaitedMs) + " of waiting"
	case all > r.TookMs+r.TookMs/slack:
		return took(r.TookMs) + " of work in " + took(all)
	}
	return took(r.TookMs)
}

// since returns a time since the start of a run that took total, in the unit of the other times of the run.
func since(ms, total int64) string {
	sign := "+"
	if ms < 0 {
		sign, ms = "−", -ms
	}
	const short, minute = 2000, 60_000
	switch {
	case ms == 0:
		return "0"
	case total < short:
		return fmt.Sprintf("%s%d ms", sign, ms)
	case total < minute && ms < minute:
		return fmt.Sprintf("%s%.1f s", sign, float64(ms)/1000)
	}
	return sign + took(ms)
}

// number returns a number with a narrow space, at which no line breaks, between groups of three digits.
func number[T int | int64](n T) string { return strings.ReplaceAll(plain.Number(n), " ", "\u202f") }

// count returns a number and a noun.
func count[T int | int64](n T, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return number(n) + " " + noun
}

// scoresOf returns the scores of a run, such as "judge 0.9, size 8 (mean of 2)"; "" if it has none.
func scoresOf(r *report.Run) string {
	parts := make([]string, len(r.Scores))
	for i, s := range r.Scores {
		parts[i] = s.Name + " " + strconv.FormatFloat(s.Mean, 'g', 4, 64)
		if s.Count > 1 {
			parts[i] += fmt.Sprintf(" (mean of %d)", s.Count)
		}
	}
	return strings.Join(parts, ", ")
}

// A look is how a state looks.
type look struct{ Glyph, Word, Class string }

// lookOf returns how a state looks.
func lookOf(state report.State) look {
	switch state {
	case report.Finished:
		return look{"✓", "finished", "ok"}
	case report.Failed:
		return look{"✗", "failed", "fail"}
	case report.Running:
		return look{"●", "running", "run"}
	case report.Stale:
		return look{"!", "no process runs it", "run"}
	case report.Waiting:
		return look{"◆", "waits for you", "wait"}
	case report.Delayed:
		return look{"◷", "waits", "wait"}
	case report.Skipped:
		return look{"–", "skipped", "off"}
	case report.Cancelled:
		return look{"■", "cancelled", "off"}
	case report.Pending:
	}
	return look{"○", "pending", "off"}
}

// verdict returns the head of a run in words of ours and the stored words that follow: "fix-212 failed: unit, exit status 1".
func verdict(r *report.Run) (ours, stored string) {
	f := r.Failure
	switch {
	case f != nil && f.Step != "" && f.Error != "":
		stored = f.Step + ", " + reason(f.Error)
		if len(f.Also) > 0 {
			stored += "; also " + strings.Join(f.Also, ", ")
		}
		return "failed: ", stored
	case f != nil && f.Error != "":
		return "failed: ", reason(f.Error)
	case len(r.Waits) > 0 && (r.State == report.Waiting || r.State == report.Delayed):
		w := r.Waits[0]
		return "waits for " + waitWord(w.For) + ": ", w.Step
	}
	return lookOf(r.State).Word, ""
}

// reason returns an error without the code before it.
func reason(text string) string {
	if code, rest, ok := strings.Cut(text, ": "); ok && code != "" && !strings.ContainsAny(code, " \t") && strings.ContainsRune(code, '_') {
		return rest
	}
	return text
}

// waitWord returns what is waited for in words.
func waitWord(what string) string {
	switch what {
	case "approval":
		return "an approval"
	case "human":
		return "an answer"
	case "signal":
		return "a signal"
	case "timer":
		return "a time"
	}
	return "something"
}

// times returns how often something failed, in words.
func times(n int) string {
	switch n {
	case 0, 1:
		return ""
	case 2:
		return " twice"
	}
	return fmt.Sprintf(" %s times", number(n))
}

// states returns all states, those that people look for first before the others.
func states() []report.State {
	return []report.State{
		report.Failed, report.Stale, report.Waiting, report.Delayed, report.Running, report.Pending, report.Cancelled, report.Skipped, report.Finished,
	}
}

// forkNow returns how a fork stands, as the end of a sentence about it.
func forkNow(f *report.Fork) string {
	switch f.State {
	case report.Finished:
		return "has finished"
	case report.Failed:
		return "has failed"
	case report.Running:
		return "is running"
	case report.Stale:
		return "has no process that runs it"
	case report.Waiting:
		return "waits for you"
	case report.Delayed:
		return "waits"
	case report.Cancelled:
		return "was cancelled"
	case report.Pending, report.Skipped:
	}
	return "has not begun"
}

// forksOf returns how the forks of a run stand, or "" if there are none, or only one that the failure names.
func forksOf(r *report.Run) string {
	total := len(r.Forks) + r.MoreForks
	if len(r.Forks) == 0 || total == 1 && r.Failure != nil && r.Failure.Better != nil {
		return ""
	}
	var words []string
	for _, state := range states() {
		n := 0
		for _, f := range r.Forks {
			if f.State == state {
				n++
			}
		}
		if n > 0 {
			words = append(words, number(n)+" "+lookOf(state).Word)
		}
	}
	if total == 1 {
		return "Its fork " + forkNow(&r.Forks[0])
	}
	return count(total, "fork") + ": " + strings.Join(words, ", ")
}

// short returns the first eight characters of an id.
func short(id string) string { return id[:min(len(id), 8)] }

// leftOut returns what a report leaves out of a run.
func leftOut(r *report.Run) []string {
	var out []string
	add := func(n int, noun, where string) {
		if n > 0 {
			out = append(out, count(n, noun)+where)
		}
	}
	add(r.Input.More, "member", " of the input")
	add(r.Outputs.More, "output", "")
	add(r.MoreRows, "row", " of the table of steps")
	add(r.MoreForks, "fork", "")
	add(r.MoreFiles, "name", " of changed files")
	lines, parts, bytes := 0, 0, 0
	for _, p := range r.Parts {
		if p.Left > 0 {
			lines, parts = lines+p.Left, parts+1
		}
		for _, l := range p.Lines {
			bytes += l.Cut
		}
	}
	for _, v := range append(append([]report.Value{}, r.Input.List...), r.Outputs.List...) {
		bytes += v.Cut
	}
	add(lines, "line", " in "+count(parts, "part"))
	add(bytes, "byte", " at the ends of long lines and values")
	add(r.MoreParts, "part", " as a whole (logs, changes and turns)")
	return append(out, r.Unread...)
}
