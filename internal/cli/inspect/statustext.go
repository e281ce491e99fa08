package inspect

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/claim"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/mail"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/internal/share"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// statusWidth is how many columns the status has where a terminal is not narrower.
const statusWidth = 80

// suggest returns the commands to type next, the most urgent command first. The result is never empty. It has at most
// one command of each kind:
//   - resume for a run that was answered and that nobody executes
//   - a command that answers the oldest waiting request that has such a command
//   - resume for a stale run, and logs for a run with running tasks, or fetch if another clone runs it
//   - resume and show for the run that failed last
//   - if there are no runs at all: run, session enable and help
//   - if none of these commands applies: timeline for the newest run, and resume if it starts or continues this run
//
// waiting has the inbox lines of the waiting runs, the oldest line first.
func suggest(doc *statusDocument, waiting []mail.Line) []summary.Command {
	var out []summary.Command
	for _, l := range waiting {
		if l.Ready {
			out = append(out, suggestion(mail.Settle(l), "goes on with the run"))
			break
		}
	}
	for _, l := range waiting {
		if how := mail.Settle(l); how != "" && !l.Ready {
			out = append(out, suggestion(how, "answers "+l.RunID))
			break
		}
	}
	for _, run := range doc.Running {
		if run.Stale {
			out = append(out, suggestion(fault.CommandLine(arg.Program, "resume", run.RunID), "continues the run; no process executes it now"))
			break
		}
	}
	for _, run := range doc.Running {
		if run.there {
			args := []string{"fetch"}
			if run.AsOf != nil {
				args = append(args, run.AsOf.Remote, run.RunID)
			}
			out = append(out, suggestion(fault.CommandLine(arg.Program, args...), "fetches what the run does in another clone"))
			break
		}
		if !run.Stale && !run.foreign && len(run.Tasks) > 0 {
			out = append(out, suggestion(fault.CommandLine(arg.Program, "logs", run.RunID, "--follow"), "follows the run's log"))
			break
		}
	}
	if f := doc.Failed; f != nil {
		if !f.foreign {
			out = append(out, suggestion(fault.CommandLine(arg.Program, "resume", f.RunID), "retries the failed tasks"))
		}
		out = append(out, suggestion(fault.CommandLine(arg.Program, "show", f.RunID), "shows the whole failure"))
	}
	if len(doc.Newest) == 0 {
		return append(out, suggestion(arg.Program+" run hello.yaml", "runs the workflow"),
			suggestion(arg.Program+" session enable", "records the sessions of coding agents from now on"), suggestion(arg.Program+" help", "lists the commands"))
	}
	if len(out) == 0 {
		newest := doc.Newest[0].RunID
		if doc.resume != "" {
			out = append(out, suggestion(fault.CommandLine(arg.Program, "resume", newest), doc.resume))
		}
		out = append(out, suggestion(fault.CommandLine(arg.Program, "timeline", newest), "shows the run's steps"))
	}
	return out
}

// suggestion returns a command to type next, and what it does.
func suggestion(line, does string) summary.Command { return summary.Command{Line: line, Does: does} }

// A statusView writes the status for people.
type statusView struct {
	strings.Builder
	p     display.Painter
	now   time.Time
	width int // how many columns the status has
	asOf  map[string]*share.Seen
}

// A statusRow is one line of a part of the status, and the lines under it.
type statusRow struct {
	run, status, what string // status is set only in the part of the newest runs
	atMs              int64
	under             []string
}

// all writes every part of the status that is not empty, and then the commands to type next. If there are no runs, it
// writes howToBegin instead of the parts. waiting has the inbox lines of the waiting runs.
func (v *statusView) all(doc *statusDocument, waiting []mail.Line) {
	if len(doc.Newest) == 0 {
		v.WriteString(howToBegin)
	} else {
		v.printf("%s\n", countsText(doc))
		// status reads only some of the running and waiting runs. The third argument of part counts the others.
		running := doc.Counts[string(snapshot.RunRunning)]
		v.part("Running", runningRows(doc.Running), running-len(doc.Running), "runs")
		ready, open := splitReady(waiting)
		v.part("Ready to go on", waitingRows(ready), 0, "inbox")
		v.part("Waiting", waitingRows(open), waitingRuns(doc)-statusShown, "inbox")
		v.part("Failed last", failedRows(doc.Failed), 0, "")
		v.part("Newest runs", newestRows(doc.Newest), 0, "")
	}
	v.part("Left running", leftRows(doc.Left, v.now), 0, "runs")
	v.title("Next")
	width := 0
	for _, next := range doc.Next {
		width = max(width, term.Width(next.Line))
	}
	gap := "  "
	if v.width < statusWidth {
		width, gap = 0, "\n      "
	}
	for _, next := range doc.Next {
		command := plain.Text(next.Line)
		v.printf("  %s%s%s\n", display.Padded(command, command, width), gap, v.p.Paint(term.Dim, term.CutEnd(plain.Text(next.Does), v.width-6, "…")))
	}
}

// howToBegin is the status of a repository without runs.
const howToBegin = `No runs yet. A workflow is a file of tasks, such as this hello.yaml:

  name: hello
  tasks:
    - {id: greet, run: echo hello}
    - {id: ship, needs: [greet], approval: Ship it?}
`

// countsText returns the number of all runs, and the number of runs in each status that a run has. Running runs and
// waiting runs come first.
func countsText(doc *statusDocument) string {
	total := 0
	for _, n := range doc.Counts {
		total += n
	}
	var parts []string
	add := func(n int, word string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, word))
		}
	}
	add(doc.Counts[string(snapshot.RunRunning)], "running")
	add(waitingRuns(doc), "waiting")
	for _, status := range []snapshot.RunStatus{snapshot.RunPending, snapshot.RunFailed, snapshot.RunCancelled, snapshot.RunFinished} {
		add(doc.Counts[string(status)], string(status))
	}
	return plain.Count(total, "run") + ": " + strings.Join(parts, ", ")
}

// waitingRuns returns how many runs in doc.Counts have a waiting status.
func waitingRuns(doc *statusDocument) int {
	waiting := 0
	for status, n := range doc.Counts {
		if snapshot.RunStatus(status).Waiting() {
			waiting += n
		}
	}
	return waiting
}

// runningRows returns a row for each running run.
func runningRows(list []runningRun) []statusRow {
	rows := make([]statusRow, len(list))
	for i, run := range list {
		rows[i] = statusRow{run: run.RunID, what: cmp.Or(run.turn, run.Text(), strings.Join(run.Tasks, ", ")), atMs: run.UpdatedAtMs}
		if run.Stale {
			rows[i].what = "no process runs this run any more"
		}
	}
	return rows
}

// leftRows returns a row for each run with commands that outlived their process, with the command that ends them under it.
func leftRows(list []claim.LeftCommands, now time.Time) []statusRow {
	rows := make([]statusRow, len(list))
	for i, left := range list {
		command := fault.CommandLine(arg.Program, "cancel", left.Run)
		if left.Gone {
			command = fault.CommandLine(arg.Program, "doctor", "--repair")
		}
		rows[i] = statusRow{
			run: left.Run, what: plain.Count(left.Count, "command") + " of a process that is gone", atMs: now.UnixMilli(),
			under: []string{fmt.Sprintf("`%s` ends them", command)},
		}
	}
	return rows
}

// splitReady returns the lines whose runs only have to be resumed, and the others.
func splitReady(list []mail.Line) (ready, open []mail.Line) {
	for _, l := range list {
		if l.Ready {
			ready = append(ready, l)
		} else {
			open = append(open, l)
		}
	}
	return ready, open
}

// waitingRows returns a row for each line of the inbox, with the command that answers under it.
func waitingRows(list []mail.Line) []statusRow {
	rows, told := make([]statusRow, len(list)), make(map[string]bool) // one resume is enough for a run
	for i, l := range list {
		prompt := mail.Prompt(l)
		if l.Kind == snapshot.WaitTimer || l.Kind == snapshot.WaitSignal {
			prompt = l.Kind + " " + prompt
		}
		what := display.AttemptName(l.NodeID, l.Iteration) + ": " + prompt
		if l.Ready && l.Status != snapshot.WaitWaiting {
			what = display.AttemptName(l.NodeID, l.Iteration) + " " + l.Status + ": " + prompt
		}
		rows[i] = statusRow{run: l.RunID, what: what, atMs: l.RequestedAtMs}
		if how := mail.HowToSettle(l); how != "" && !told[how] {
			told[how] = true
			rows[i].under = []string{how}
		}
	}
	return rows
}

// failedRows returns one row for the run f, with more lines of its error and its log under it. It returns nil if f is
// nil.
func failedRows(f *failedRun) []statusRow {
	if f == nil {
		return nil
	}
	reason := plain.Lines(f.Error)
	row := statusRow{run: f.RunID, what: reason[0], atMs: endedAt(f.RunInfo), under: reason[1:min(len(reason), statusShown)]}
	for _, line := range f.Log {
		row.under = append(row.under, "| "+line)
	}
	return []statusRow{row}
}

// newestRows returns a row for each of the newest runs.
func newestRows(list []runDocument) []statusRow {
	rows := make([]statusRow, len(list))
	for i, run := range list {
		rows[i] = statusRow{run: run.RunID, status: run.Status, what: cmp.Or(run.Text(), run.WorkflowName), atMs: run.CreatedAtMs}
		if run.Stale {
			rows[i].status += " (stale)"
		}
	}
	return rows
}

// printf writes text, formatted as fmt.Sprintf does.
func (v *statusView) printf(format string, args ...any) { fmt.Fprintf(&v.Builder, format, args...) }

// title writes an empty line, and the title of a part of the status.
func (v *statusView) title(text string) { v.WriteString("\n" + v.p.Paint(term.Bold, text) + "\n") }

// part writes at most statusShown rows under a title. It writes nothing if there are no rows. unread is the number of
// runs that have no row; a negative number counts as 0. If rows or runs are left out, part also writes their number,
// and the command of git smithers that lists them. command is the name of this command.
func (v *statusView) part(title string, rows []statusRow, unread int, command string) {
	if len(rows) == 0 {
		return
	}
	v.title(title)
	more := max(unread, 0) + max(len(rows)-statusShown, 0)
	rows = rows[:min(statusShown, len(rows))]
	id, status, when := 0, 0, 0
	for _, row := range rows {
		id, when = max(id, term.Width(plain.Text(row.run))), max(when, len(display.Ago(v.now, row.atMs)))
		if row.status != "" {
			status = max(status, len(row.status)+2)
		}
	}
	// The column before the last gets the width that the other columns and the gaps leave, but at least 20. A narrow terminal has no last
	// column, and only the beginnings of long ids.
	room, narrow := max(v.width-2-id-2-status-2-when, 20), v.width < statusWidth
	if narrow {
		id = min(id, v.width/2-2)
		room = max(v.width-2-id-2-status, 5)
	}
	for _, row := range rows {
		pad := strings.Repeat(" ", status-len(row.status))
		run, what := term.CutEnd(plain.Text(row.run), id, "…"), term.CutEnd(plain.Text(row.what), room, "…")
		v.printf("  %s  %s%s", display.Padded(run, run, id), v.p.Status(row.status), pad)
		if narrow {
			v.printf("%s\n", what)
		} else {
			v.printf("%s  %s\n", display.Padded(what, what, room), v.p.Paint(term.Dim, display.Ago(v.now, row.atMs)))
		}
		if seen := v.asOf[row.run]; seen != nil && row.status == "" {
			row.under = append(row.under, "as of the last fetch from "+seen.Remote+", "+display.Ago(v.now, seen.AtMs))
		}
		for _, line := range row.under {
			if line = plain.Text(line); !narrow || !strings.HasPrefix(line, arg.Program) { // a command is whole, or it is no use
				line = term.CutEnd(line, v.width-4, "…")
			}
			v.printf("    %s\n", v.p.Paint(term.Dim, line))
		}
	}
	if more > 0 {
		v.printf("  and %d more: `%s %s` lists them\n", more, arg.Program, command)
	}
}
