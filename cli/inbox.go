package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/engine"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
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
	RequestedAtMs int64           `json:"requestedAtMs"`
	TimeoutAtMs   *int64          `json:"timeoutAtMs"`
}

func inboxCommand() *command {
	return &command{
		name:    "inbox",
		summary: "list what waits for people, in all runs",
		usage:   []string{"[<run>] [--all]"},
		about: `Lists the approvals and human requests that are open, the oldest first: since when,
the run, its workflow and status, the task, the kind (approval, ask, confirm, select,
json), and the title or prompt. Requests whose time is up are expired first. With
--all, what is settled is listed, too. With --json, one object a line.`,
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
	if s.json {
		for _, row := range list {
			if err := s.writeJSON(describeInbox(row)); err != nil {
				return err
			}
		}
		return nil
	}
	if len(list) == 0 {
		s.note("nothing waits for anybody")
		return nil
	}
	return s.printInbox(ctx, list)
}

// inbox lists what a query selects, after requests whose time is up have expired. Those
// that cannot be written to count as expired all the same.
func inbox(ctx context.Context, s *session, store *timeline.Store, query sqliteindex.InboxQuery) ([]sqliteindex.InboxRow, error) {
	list, err := listInbox(ctx, store, query)
	if err != nil {
		return nil, err
	}
	now := s.Now()
	due := func(row sqliteindex.InboxRow) bool {
		return row.Status == snapshot.HumanPending && row.TimeoutAtMs != nil && *row.TimeoutAtMs <= now.UnixMilli()
	}
	var runs []string
	for _, row := range list {
		if due(row) && !slices.Contains(runs, row.RunID) && !snapshot.RunStatus(row.RunStatus).Ended() {
			runs = append(runs, row.RunID)
		}
	}
	if len(runs) == 0 {
		return list, nil
	}
	for _, run := range runs {
		head, err := store.Head(ctx, run)
		if err == nil {
			_, err = engine.Expire(ctx, head, now)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			s.warn(fmt.Errorf("run %s does not keep that requests have expired: %w", run, err))
		}
	}
	if list, err = listInbox(ctx, store, query); err != nil {
		return nil, err
	}
	if !query.All {
		return slices.DeleteFunc(list, due), nil
	}
	for i, row := range list {
		if due(row) {
			list[i].Status = snapshot.HumanExpired
		}
	}
	return list, nil
}

// listInbox asks the index, brought up to date.
func listInbox(ctx context.Context, store *timeline.Store, query sqliteindex.InboxQuery) ([]sqliteindex.InboxRow, error) {
	var runs []string
	if query.RunID != "" {
		runs = []string{query.RunID}
	}
	index, err := store.Details(ctx, runs...)
	if err != nil {
		return nil, err
	}
	return index.Inbox(ctx, query)
}

func describeInbox(row sqliteindex.InboxRow) inboxDocument {
	doc := inboxDocument{
		Kind: "inbox", RunID: row.RunID, WorkflowName: row.WorkflowName, RunStatus: row.RunStatus,
		NodeID: row.NodeID, NodeLabel: row.NodeLabel, Iteration: row.Iteration, RequestKind: row.Kind, Status: row.Status,
		Prompt: row.Prompt, RequestedAtMs: row.RequestedAtMs, TimeoutAtMs: row.TimeoutAtMs,
	}
	if row.RequestID != "" {
		doc.RequestID = &row.RequestID
	}
	if row.Summary != "" {
		doc.Summary = &row.Summary
	}
	if row.Form != nil {
		doc.Form = json.RawMessage(*row.Form)
	}
	return doc
}

// printInbox prints the list for people and, under it, how each is answered.
func (s *session) printInbox(ctx context.Context, list []sqliteindex.InboxRow) error {
	p := s.painter(ctx)
	t := table{header: []string{"SINCE", "RUN", "WORKFLOW", "RUN IS", "TASK", "KIND", "STATUS", "PROMPT"}}
	for _, row := range list {
		since, prompt := clockTime(row.RequestedAtMs), row.Prompt
		if s.isTerminalOut() {
			since, prompt = ago(s.Now(), row.RequestedAtMs), shorten(prompt, valueShown)
		}
		t.add(
			cell{text: since}, cell{text: row.RunID}, cell{text: row.WorkflowName}, cell{row.RunStatus, p.status},
			cell{text: inboxTask(row)}, cell{text: row.Kind}, cell{row.Status, p.status}, cell{text: prompt},
		)
	}
	if err := t.write(s); err != nil || !s.isTerminalOut() {
		return err
	}
	for _, row := range list {
		if how := howToSettle(row); how != "" {
			s.note("  %s", how)
		}
	}
	return nil
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
func howToSettle(row sqliteindex.InboxRow) string {
	of := plain(row.RunID + " " + row.NodeID)
	switch row.Status {
	case snapshot.ApprovalRequested:
		return program + " approve " + of + ", or deny"
	case snapshot.HumanPending:
		return program + " answer " + of
	}
	return ""
}
