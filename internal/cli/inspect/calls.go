package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// callsOptions has the options of calls.
type callsOptions struct {
	address string
	node    string // "" for all
	tool    string // "" for all
	failed  bool
	slow    bool
	limit   int // 0 for all
}

// callDocument is one line of calls --json.
type callDocument struct {
	Kind  string `json:"kind"`
	RunID string `json:"runId"`
	snapshot.ToolCall

	Call       string `json:"callKind,omitempty"` // the member kind of the call
	DurationMs *int64 `json:"durationMs"`         // null while the call has not ended
	NeverEnded bool   `json:"neverEnded"`         // its attempt has ended, and the call has not: it may have had its effect
}

func callsCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "calls",
		Summary: "list the tool calls of a run",
		Usage:   []string{"<run>[:<frame>] [<node>] [--failed] [--slow] [--tool NAME] [--limit N]"},
		About: `Lists what agents and commands called, in the order in which the calls began: the task and
the attempt, the tool, its most telling argument, the outcome and the time it took. Sessions
of coding agents record their calls by themselves; the command of a task reports them, see
` + "`git smithers help workflow-reference`" + `.

A call that has not ended although its attempt has is "never ended": it may have had its
effect. --failed lists such calls, too. With --json, prints one object per line, with the
whole input and output.`,
		MinArgs: 1, MaxArgs: 2,
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "failed", Usage: "list only calls that failed, may have failed, or never ended"},
			&urfave.BoolFlag{Name: "slow", Usage: "list the calls that took longest first"},
			&urfave.StringFlag{Name: "tool", Usage: "list only calls of the tool `NAME`"},
			arg.LimitFlag(0, "list only the first `N` calls (default: all)"),
		},
		Exits: arg.Reads(),
		Examples: []arg.Example{
			{"list what the newest session called", "git smithers calls @session"},
			{"find the ten slowest calls", "git smithers calls triage-1 --slow --limit 10"},
			{"read why calls of the task fix failed", "git smithers calls triage-1 fix --failed --json"},
		},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		limit, err := arg.ParseLimit(c)
		if err != nil {
			return err
		}
		opts := callsOptions{
			address: c.Args().First(), node: c.Args().Get(1), tool: c.String("tool"), failed: c.Bool("failed"), slow: c.Bool("slow"), limit: limit,
		}
		return s.WithStore(ctx, func(store *timeline.Store) error { return runCalls(ctx, s, store, opts) })
	}
	return cmd
}

// runCalls prints a line for each call that opts selects.
func runCalls(ctx context.Context, s *session.Session, store *timeline.Store, opts callsOptions) error {
	run, entry, err := newestEntry(ctx, store, opts.address)
	if err != nil {
		return err
	}
	calls, err := selectCalls(entry, opts)
	if err != nil {
		return timeline.Explain(err)
	}
	ended, err := endedAttempts(entry)
	if err != nil {
		return err
	}
	row, err := entry.RunRow()
	if err != nil {
		return timeline.Explain(err)
	}
	texts, err := agent.NewCallTexts(entry, row.Workflow)
	if err != nil {
		return err
	}
	list := callList{session: s, run: run, texts: texts, ended: ended}
	if s.JSON {
		return list.writeJSON(calls)
	}
	if len(calls) == 0 && s.OutTTY {
		s.Note("no such calls in run %s", plain.Text(run))
	}
	return list.write(ctx, calls)
}

// newestEntry returns the entry at an address. If the address names only a run, that is the newest entry, which can be newer than the
// newest frame.
func newestEntry(ctx context.Context, store *timeline.Store, address string) (run string, entry *snapshot.Entry, err error) {
	at, err := store.Load(ctx, address)
	if err != nil {
		return "", nil, err
	}
	return at.Address.Run, at.Entry, nil
}

// selectCalls returns the calls in the journal of an entry that opts selects, in their order.
func selectCalls(entry *snapshot.Entry, opts callsOptions) ([]snapshot.ToolCall, error) {
	calls := []snapshot.ToolCall{}
	for call, err := range entry.AllToolCalls() {
		if err != nil {
			return nil, err
		}
		if opts.node != "" && call.NodeID != opts.node || opts.tool != "" && call.ToolName != opts.tool ||
			opts.failed && call.Status == snapshot.ToolCallSucceeded {
			continue
		}
		calls = append(calls, call)
	}
	slices.SortStableFunc(calls, func(a, b snapshot.ToolCall) int {
		if order := cmp.Compare(tookOf(b), tookOf(a)); opts.slow && order != 0 {
			return order
		}
		return cmp.Or(cmp.Compare(a.StartedAtMs, b.StartedAtMs), cmp.Compare(a.NodeID, b.NodeID), cmp.Compare(a.Iteration, b.Iteration),
			cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(a.Seq, b.Seq))
	})
	if opts.limit > 0 && len(calls) > opts.limit {
		calls = calls[:opts.limit]
	}
	return calls, nil
}

// tookOf returns how long a call took in milliseconds; -1 if it has not ended.
func tookOf(call snapshot.ToolCall) int64 {
	if call.FinishedAtMs == nil {
		return -1
	}
	return max(*call.FinishedAtMs-call.StartedAtMs, 0)
}

// endedAttempts returns the keys of the attempts that have ended.
func endedAttempts(entry *snapshot.Entry) (map[string]bool, error) {
	all, err := listAttempts(entry)
	if err != nil {
		return nil, err
	}
	ended := make(map[string]bool, len(all))
	for _, a := range all {
		ended[keyOf(a)] = a.FinishedAtMs != nil
	}
	return ended, nil
}

// callList prints calls of a run.
type callList struct {
	session *session.Session
	run     string
	texts   *agent.CallTexts
	ended   map[string]bool // attempts, by their keys
}

// neverEnded reports whether a call has not ended although its attempt has.
func (l *callList) neverEnded(call snapshot.ToolCall) bool {
	return call.Status == snapshot.ToolCallIntended && l.ended[snapshot.AttemptKey(call.NodeID, call.Iteration, call.Attempt)]
}

// writeJSON prints a document for each call.
func (l *callList) writeJSON(calls []snapshot.ToolCall) error {
	for _, call := range calls {
		doc := callDocument{Kind: "call", RunID: l.run, ToolCall: call, Call: call.Kind, NeverEnded: l.neverEnded(call)}
		if took := tookOf(call); took >= 0 {
			doc.DurationMs = &took
		}
		var err error
		if doc.Input, err = l.texts.Input(call); err != nil {
			return err
		}
		output, err := l.texts.Output(call)
		if err != nil {
			return err
		}
		if doc.Output = output; output != nil && !json.Valid(output) {
			doc.Output, _ = json.Marshal(string(output)) //nolint:errchkjson // a text encodes always
		}
		if err := l.session.WriteJSON(doc); err != nil {
			return err
		}
	}
	return nil
}

// write prints a table of calls.
func (l *callList) write(ctx context.Context, calls []snapshot.ToolCall) error {
	p := display.NewPainter(ctx, l.session)
	t := term.Table{Header: []string{"TASK", "ATTEMPT", "TOOL", "OUTCOME", "TOOK", "ARGUMENT"}}
	for _, call := range calls {
		input, err := l.texts.Input(call)
		if err != nil {
			return err
		}
		argument := ""
		if input != nil {
			argument = inputText(input)
		}
		outcome, took := call.Status, ""
		switch {
		case call.FinishedAtMs != nil:
			took = display.Duration(time.Duration(tookOf(call)) * time.Millisecond)
		case l.neverEnded(call):
			outcome = "never ended"
		case call.Status == snapshot.ToolCallIntended:
			outcome = "running"
		}
		t.Add(
			term.Cell{Text: display.AttemptName(call.NodeID, call.Iteration)},
			term.Cell{Text: strconv.Itoa(call.Attempt)}, term.Cell{Text: plain.Text(plain.Cut(call.ToolName, titleShown))},
			term.Cell{Text: outcome, Paint: func(text string) string { return p.StatusAs(call.Status, text) }},
			term.Cell{Text: took}, term.Cell{Text: argument},
		)
	}
	return t.Write(l.session.Terminal)
}
