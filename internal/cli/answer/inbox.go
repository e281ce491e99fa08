package answer

import (
	"context"
	"fmt"
	"slices"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/mail"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	runlist "github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
)

func inboxCommand() *arg.Command {
	return &arg.Command{
		Name:    "inbox",
		Summary: "list the requests, signals and timers that runs wait for",
		Usage:   []string{"[<run>] [--all] [--limit N] [--since TIME]"},
		About: `Lists open requests, the oldest first: the time since which the run waits, the run, its
workflow and status, the task, the kind (approval, ask, confirm, select or json, answered by
people; signal; timer), and the title, the prompt with its choices, the signal, or the time
at which the timer is due. Requests past their deadline are expired first. --all also lists
settled requests. With --json, prints one object per line.

A request that was settled stays in the list while its run waits to be resumed, at a terminal
with the command that resumes it; with --json, its kind is ready.

Smithers does not see answers that you give with git smithers. If Smithers still has the
request open, inbox lists it as "not told", with the command that passes the answer on.`,
		MaxArgs: 1,
		Flags: append([]urfave.Flag{
			&urfave.BoolFlag{Name: "all", Aliases: []string{"a"}, Usage: "also list settled requests, and open requests of ended runs"},
		}, arg.WindowFlags("requests", "the oldest", "that wait")...),
		Exits: arg.Writes(),
		Examples: []arg.Example{
			{"see the requests that wait for you", "git smithers inbox"},
			{"approve all open approvals of a run", `git smithers inbox triage-1 --json | jq -r 'select(.requestKind == "approval").nodeId' | xargs -n 1 git smithers approve triage-1`},
		},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			query := sqliteindex.InboxQuery{RunID: c.Args().First(), All: c.Bool("all")}
			window, err := arg.ParseWindow(s, c)
			if err != nil {
				return err
			}
			return s.WithStore(ctx, func(store *timeline.Store) error { return runInbox(ctx, s, store, query, window) })
		},
	}
}

// runInbox prints a line for each request, signal and timer that query selects. query.RunID may be a unique prefix of a
// run's id. If query selects nothing, runInbox notes this; if query.RunID is also a failed run, it notes the command to
// type. With --json, runInbox prints a document for each line, and no notes.
func runInbox(ctx context.Context, s *session.Session, store *timeline.Store, query sqliteindex.InboxQuery, window arg.Window) error {
	if query.RunID != "" {
		id, err := store.ResolveRun(ctx, query.RunID)
		if err != nil {
			return err
		}
		query.RunID = id
	}
	list, index, err := inbox(ctx, s, store, query)
	if err != nil {
		return err
	}
	list = arg.First(window, list, func(line mail.Line) int64 { return line.RequestedAtMs })
	if s.JSON {
		return writeInbox(s, list, query.All)
	}
	if len(list) == 0 {
		s.Note("nothing is waiting")
		return noteFailure(ctx, s, store, index, query.RunID)
	}
	return printInbox(ctx, s, list)
}

// writeInbox prints the documents of inbox --json. A settled request with which a resume goes on is a document of its own kind, so that who reads
// requests to answer finds no other; with all, every request has its document.
func writeInbox(s *session.Session, list []mail.Line, all bool) error {
	for _, line := range list {
		var doc any = mail.Describe(line)
		if line.Ready && !all {
			doc = mail.DescribeReady(line)
		}
		if err := s.WriteJSON(doc); err != nil {
			return err
		}
	}
	return nil
}

// noteFailure notes the command to type if the run has failed, as of the entry that index knows, and git smithers runs it. In all
// other cases, it notes nothing. run is the id of the run, or "" for no run.
func noteFailure(ctx context.Context, s *session.Session, store *timeline.Store, index *sqliteindex.Index, run string) error {
	row, ok, err := index.DetailedRun(ctx, run)
	if err != nil || !ok {
		return timeline.Explain(err)
	}
	head, err := runlist.HeadAt(store, run, row.Tip)
	if err != nil {
		return err
	}
	next, err := app.AfterFailure(store, head)
	if next != "" {
		s.Note("run %s has failed: %s", plain.Text(run), plain.Text(next))
	}
	return err
}

// inbox returns the lines that query selects. With query.All, these lines include settled requests. Without query.All,
// they are the open requests, and the answers that were not passed to the engine that runs the run. inbox also returns
// the index from which it has read the lines.
//
// A pending request whose deadline has passed counts as expired. inbox also records this in the run, except for a run
// that has ended or that another engine runs. If a request cannot be recorded as expired, inbox warns.
func inbox(ctx context.Context, s *session.Session, store *timeline.Store, query sqliteindex.InboxQuery) ([]mail.Line, *sqliteindex.Index, error) {
	query.Settled = true // the list also has the settled requests of which the run's engine was not told
	list, index, err := listInbox(ctx, s, store, query)
	if err != nil {
		return nil, nil, err
	}
	now := s.Now()
	due := func(l mail.Line) bool {
		return l.Status == snapshot.HumanPending && l.TimeoutAtMs != nil && *l.TimeoutAtMs <= now.UnixMilli()
	}
	var runs []string
	for _, l := range list {
		if due(l) && l.Engine == "" && !slices.Contains(runs, l.RunID) && !snapshot.RunStatus(l.RunStatus).Ended() {
			runs = append(runs, l.RunID)
		}
	}
	for _, run := range runs {
		head, err := store.Head(ctx, run)
		if err == nil {
			_, err = mailbox.Expire(ctx, head, now)
		}
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if err != nil {
			s.Warn(fmt.Errorf("the expired requests of run %s could not be recorded: %w", run, err))
		}
	}
	if len(runs) > 0 { // read the lines again, because requests were recorded as expired
		if list, index, err = listInbox(ctx, s, store, query); err != nil {
			return nil, nil, err
		}
	}
	if !query.All {
		list = slices.DeleteFunc(list, func(l mail.Line) bool { return due(l) && !l.Ready })
	}
	for i, l := range list {
		if due(l) {
			list[i].Status = snapshot.HumanExpired
		}
	}
	if !query.All {
		return slices.DeleteFunc(list, func(l mail.Line) bool { return !l.Open() }), index, nil
	}
	return list, index, nil
}

// listInbox reads the lines that query selects from the index, and returns the index, too. mail.Lines then marks each answer that was not
// passed to the engine that runs the run.
func listInbox(ctx context.Context, s *session.Session, store *timeline.Store, query sqliteindex.InboxQuery) ([]mail.Line, *sqliteindex.Index, error) {
	var runs []string
	if query.RunID != "" {
		runs = []string{query.RunID}
	}
	index, err := store.Details(ctx, runs...)
	if err != nil {
		return nil, nil, err
	}
	rows, err := index.Inbox(ctx, query)
	if err != nil {
		return nil, nil, err
	}
	lines, err := mail.Lines(ctx, s, store, rows)
	return lines, index, err
}

// printInbox prints the lines of list as a table. At a terminal, it shortens times and prompts, and then notes the
// commands that answer.
func printInbox(ctx context.Context, s *session.Session, list []mail.Line) error {
	p := display.NewPainter(ctx, s)
	t := term.Table{Header: []string{"SINCE", "RUN", "WORKFLOW", "RUN IS", "TASK", "KIND", "STATUS", "PROMPT"}, Spare: []string{"WORKFLOW", "RUN IS", "KIND", "SINCE", "STATUS"}}
	for _, l := range list {
		since, prompt := display.ClockTime(l.RequestedAtMs), mail.Prompt(l)
		if s.IsTerminalOut() {
			since, prompt = display.Ago(s.Now(), l.RequestedAtMs), plain.Shorten(prompt, display.ValueShown)
		}
		t.Add(
			term.Cell{Text: since}, term.Cell{Text: l.RunID}, term.Cell{Text: l.WorkflowName}, term.Cell{Text: l.RunStatus, Paint: p.Status},
			term.Cell{Text: inboxTask(l.InboxRow)}, term.Cell{Text: l.Kind}, term.Cell{Text: inboxStatus(l), Paint: p.Status}, term.Cell{Text: prompt},
		)
	}
	if err := t.Write(s.Terminal); err != nil || !s.IsTerminalOut() {
		return err
	}
	told := make(map[string]bool) // one resume is enough for a run
	for _, l := range list {
		if how := mail.HowToSettle(l); how != "" && !told[how] {
			told[how] = true
			s.Note("  %s", how)
		}
	}
	return nil
}

// inboxStatus returns the status of the line l. If the run's engine was not told of the answer, the result ends with
// the mark mail.NotTold. For a signal of which the engine was not told, the status is "sent".
func inboxStatus(l mail.Line) string {
	switch {
	case l.Ready && l.Status == snapshot.WaitWaiting:
		return "ready"
	case !l.Untold:
		return l.Status
	case l.Kind == snapshot.WaitSignal:
		return "sent" + mail.NotTold
	}
	return l.Status + mail.NotTold
}

// inboxTask returns the id of the task that waits, and the task's label in parentheses if it differs from the id. The
// commands that answer take the id.
func inboxTask(row sqliteindex.InboxRow) string {
	name := display.AttemptName(row.NodeID, row.Iteration)
	if row.NodeLabel != nil && *row.NodeLabel != row.NodeID {
		name += " (" + *row.NodeLabel + ")"
	}
	return name
}
