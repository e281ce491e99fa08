package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/cli/term"
	"github.com/git-smithers/git-smithers/engine/mailbox"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// inboxDocument is a line of inbox --json.
type inboxDocument struct {
	Kind          string          `json:"kind"`
	RunID         string          `json:"runId"`
	WorkflowName  string          `json:"workflowName"`
	RunStatus     string          `json:"runStatus"`
	NodeID        string          `json:"nodeId"`
	NodeLabel     *string         `json:"nodeLabel"`
	Iteration     int             `json:"iteration"`
	RequestKind   string          `json:"requestKind"`
	Status        string          `json:"status"`
	RequestID     *string         `json:"requestId"`
	Prompt        string          `json:"prompt"`
	Summary       *string         `json:"summary"`
	Form          json.RawMessage `json:"form"`
	CorrelationID *string         `json:"correlationId"`
	RequestedAtMs int64           `json:"requestedAtMs"`
	TimeoutAtMs   *int64          `json:"timeoutAtMs"`
	Engine        *string         `json:"engine"` // another one, that runs the run
	Untold        bool            `json:"untold"` // it was answered here, and the engine still asks
	Tell          *string         `json:"tell"`   // the command that tells the engine
}

func inboxCommand() *command {
	return &command{
		name:    "inbox",
		summary: "list what runs wait for: people, signals and timers",
		usage:   []string{"[<run>] [--all]"},
		about: `Lists what is open, the oldest first: since when, the run, its workflow and status,
the task, the kind (approval, ask, confirm, select or json, which people answer; signal;
timer), and the title, the prompt with its choices, the signal, or when the timer goes off. Requests whose
time is up are expired first. With --all, what is settled is listed, too. With --json, one
object a line.

Smithers does not hear what is answered here. What it still asks stays listed, as "not
told", with the command that tells it.`,
		maxArgs: 1,
		flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "all", Aliases: []string{"a"}, Usage: "list what is settled, and what runs that have ended left open, too"},
		},
		exits: writes(),
		examples: []example{
			{"see what waits for you", "git smithers inbox"},
			{"approve everything that waits in one run", `git smithers inbox triage-1 --json | jq -r 'select(.requestKind == "approval").nodeId' | xargs -n 1 git smithers approve triage-1`},
		},
		run: func(ctx context.Context, s *session, c *urfave.Context) error {
			query := sqliteindex.InboxQuery{RunID: c.Args().First(), All: c.Bool("all")}
			return s.withStore(ctx, func(store *timeline.Store) error { return runInbox(ctx, s, store, query) })
		},
	}
}

// runInbox prints what waits for people.
func runInbox(ctx context.Context, s *session, store *timeline.Store, query sqliteindex.InboxQuery) error {
	if query.RunID != "" {
		id, err := store.ResolveRun(ctx, query.RunID)
		if err != nil {
			return err
		}
		query.RunID = id
	}
	list, err := inbox(ctx, s, store, query)
	if err != nil {
		return err
	}
	if s.JSON {
		for _, line := range list {
			if err := s.WriteJSON(describeInbox(line)); err != nil {
				return err
			}
		}
		return nil
	}
	if len(list) == 0 {
		s.Note("nothing waits for anybody")
		return s.noteFailure(ctx, store, query.RunID)
	}
	return s.printInbox(ctx, list)
}

// noteFailure notes what to type if a run, "" for none, has failed.
func (s *session) noteFailure(ctx context.Context, store *timeline.Store, run string) error {
	if run == "" {
		return nil
	}
	head, err := store.Head(ctx, run)
	if err != nil {
		return err
	}
	next, err := afterFailure(ctx, store, head.Row())
	if next != "" {
		s.Note("run %s has failed: %s", plain.Text(run), plain.Text(next))
	}
	return err
}

// inbox lists what a query selects, after requests whose time is up have expired. Those
// that cannot be written to, and those of other engines, count as expired all the same.
func inbox(ctx context.Context, s *session, store *timeline.Store, query sqliteindex.InboxQuery) ([]inboxLine, error) {
	query.Settled = true // another engine may not have been told of it
	list, err := listInbox(ctx, s, store, query)
	if err != nil {
		return nil, err
	}
	now := s.Now()
	due := func(l inboxLine) bool {
		return l.Status == snapshot.HumanPending && l.TimeoutAtMs != nil && *l.TimeoutAtMs <= now.UnixMilli()
	}
	var runs []string
	for _, l := range list {
		if due(l) && l.engine == "" && !slices.Contains(runs, l.RunID) && !snapshot.RunStatus(l.RunStatus).Ended() {
			runs = append(runs, l.RunID)
		}
	}
	for _, run := range runs {
		head, err := store.Head(ctx, run)
		if err == nil {
			_, err = mailbox.Expire(ctx, head, now)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			s.Warn(fmt.Errorf("run %s does not keep that requests have expired: %w", run, err))
		}
	}
	if len(runs) > 0 {
		if list, err = listInbox(ctx, s, store, query); err != nil {
			return nil, err
		}
	}
	if !query.All {
		return slices.DeleteFunc(list, func(l inboxLine) bool { return due(l) || !l.open() }), nil
	}
	for i, l := range list {
		if due(l) {
			list[i].Status = snapshot.HumanExpired
		}
	}
	return list, nil
}

// listInbox asks the index, brought up to date, and what other engines have not been told.
func listInbox(ctx context.Context, s *session, store *timeline.Store, query sqliteindex.InboxQuery) ([]inboxLine, error) {
	var runs []string
	if query.RunID != "" {
		runs = []string{query.RunID}
	}
	index, err := store.Details(ctx, runs...)
	if err != nil {
		return nil, err
	}
	rows, err := index.Inbox(ctx, query)
	if err != nil {
		return nil, err
	}
	return s.inboxLines(ctx, store, rows)
}

func describeInbox(l inboxLine) inboxDocument {
	doc := inboxDocument{
		Kind: "inbox", RunID: l.RunID, WorkflowName: l.WorkflowName, RunStatus: l.RunStatus,
		NodeID: l.NodeID, NodeLabel: l.NodeLabel, Iteration: l.Iteration, RequestKind: l.Kind, Status: l.Status,
		RequestID: orNull(l.RequestID), Prompt: l.Prompt, Summary: orNull(l.Summary), CorrelationID: l.CorrelationID,
		RequestedAtMs: l.RequestedAtMs, TimeoutAtMs: l.TimeoutAtMs,
		Engine: orNull(l.engine), Untold: l.untold, Tell: orNull(l.tell),
	}
	if l.Form != nil {
		doc.Form = json.RawMessage(*l.Form)
	}
	return doc
}

// printInbox prints the list for people and, under it, how each is answered.
func (s *session) printInbox(ctx context.Context, list []inboxLine) error {
	p := s.painter(ctx)
	t := term.Table{Header: []string{"SINCE", "RUN", "WORKFLOW", "RUN IS", "TASK", "KIND", "STATUS", "PROMPT"}}
	for _, l := range list {
		since, prompt := clockTime(l.RequestedAtMs), inboxPrompt(l)
		if s.IsTerminalOut() {
			since, prompt = ago(s.Now(), l.RequestedAtMs), plain.Shorten(prompt, valueShown)
		}
		t.Add(
			term.Cell{Text: since}, term.Cell{Text: l.RunID}, term.Cell{Text: l.WorkflowName}, term.Cell{Text: l.RunStatus, Paint: p.Status},
			term.Cell{Text: inboxTask(l.InboxRow)}, term.Cell{Text: l.Kind}, term.Cell{Text: inboxStatus(l), Paint: p.Status}, term.Cell{Text: prompt},
		)
	}
	if err := t.Write(s.Terminal); err != nil || !s.IsTerminalOut() {
		return err
	}
	for _, l := range list {
		if how := howToSettle(l); how != "" {
			s.Note("  %s", how)
		}
	}
	return nil
}

// inboxPrompt is what somebody is asked, in words.
func inboxPrompt(l inboxLine) string {
	switch {
	case l.Kind == snapshot.WaitTimer && l.TimeoutAtMs != nil:
		return clockTime(*l.TimeoutAtMs)
	case l.Kind == snapshot.WaitSignal && l.CorrelationID != nil:
		return l.Prompt + ", correlation " + *l.CorrelationID
	case l.Kind == snapshot.HumanSelect && l.Form != nil:
		return l.Prompt + " (" + listUpTo(choicesShown, choicesOf(json.RawMessage(*l.Form))) + ")"
	}
	return l.Prompt
}

// inboxStatus is the status, and that the engine of the run has not been told of it.
func inboxStatus(l inboxLine) string {
	switch {
	case !l.untold:
		return l.Status
	case l.Kind == snapshot.WaitSignal:
		return "sent" + notTold
	}
	return l.Status + notTold
}

// inboxTask is the task that waits, by its id, for which the other commands ask, and its
// label.
func inboxTask(row sqliteindex.InboxRow) string {
	name := attemptName(row.NodeID, row.Iteration)
	if row.NodeLabel != nil && *row.NodeLabel != row.NodeID {
		name += " (" + *row.NodeLabel + ")"
	}
	return name
}

// howToSettle is the command that answers; "" where there is nothing to answer.
func howToSettle(l inboxLine) string {
	deny := ""
	if l.Status == snapshot.ApprovalRequested {
		deny = ", or deny"
	}
	switch {
	case l.tell != "":
		return l.tell + deny
	case deny != "":
		return fault.CommandLine(program, "approve", l.RunID, l.NodeID) + deny
	case l.Status == snapshot.HumanPending:
		return fault.CommandLine(program, "answer", l.RunID, l.NodeID)
	case l.Status == snapshot.WaitWaiting && l.Kind == snapshot.WaitSignal:
		return fault.CommandLine(program, signalArguments(l.RunID, snapshot.Signal{Name: l.Prompt, CorrelationID: l.CorrelationID})...)
	}
	return ""
}
