package back

import (
	"context"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// forkDocument is the document of fork --json.
type forkDocument struct {
	Kind        string   `json:"kind"`
	ForkedRunID string   `json:"forkedRunId"`
	ParentRunID string   `json:"parentRunId"`
	ParentFrame int64    `json:"parentFrame"`
	BranchLabel *string  `json:"branchLabel"`
	Tip         string   `json:"tip"`
	ContentHash string   `json:"contentHash"`
	Started     bool     `json:"started"`
	RunAgain    []string `json:"runAgain,omitempty"` // the keys of the nodes that the fork resets, and of those that it removes
}

func forkCommand() *arg.Command {
	return &arg.Command{
		Name:    "fork",
		Summary: "start a new run from a frame of another run",
		Usage:   []string{"<run>[:<frame>] [--set PATH=VALUE]... [--unset PATH]... [--node ID]... [--input JSON] [--label L] [--description D] [--run-id ID]"},
		About: `Starts a new run with the state of the frame, by default the newest frame of the parent.
No data is copied and no task runs yet: resume continues the new run.

--input changes single members of the parent's input. --node makes a task pending again and
removes its output, and does the same to every task that needs it, directly or indirectly;
with --no-deps, only to the task itself. --named-only resets as Smithers does: the named
tasks become pending, in all their iterations, and all outputs, loops and approvals stay.

--set edits the result of a finished task: outputs.plan.n=42 sets the member n of the result of
plan. The path goes on with names and indexes, outputs.plan.steps[0].title. A name with a dot
stands in brackets and quotes, outputs["test.1.25"].ok. In a loop, outputs.check is the newest
result, and outputs.check::2 that of iteration 2. The value is JSON; other text is a string,
@FILE is read, and - is standard input. --unset removes a value. The result must fit its schema.
The task stays finished; each task that needs it becomes pending, and nothing else changes.

Prints the new run's id.`,
		MinArgs: 1, MaxArgs: 1,
		Flags: append(resetFlags(),
			&urfave.StringFlag{Name: "run-id", Aliases: []string{"as"}, Usage: "give the new run this `ID`; --as is the same"},
			&urfave.StringFlag{Name: "description", Aliases: []string{"d"}, Usage: "describe the fork with `TEXT`"},
		),
		Exits: arg.Writes(),
		Examples: []arg.Example{
			{"try again from frame 3 with another input", `git smithers fork triage-1:3 --input '{"strict":true}' --label strict`},
			{"see what would have happened with another result", "git smithers fork triage-1:4 --set outputs.analyze.severity=low"},
			{"repeat one task and the tasks that need it", "git smithers fork triage-1 --node analyze"},
		},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			req, err := parseFork(s, c)
			if err != nil {
				return err
			}
			return s.WithStore(ctx, func(store *timeline.Store) error { return runFork(ctx, s, store, req) })
		},
	}
}

// resetFlags returns the flags with which fork and replay change the state of the new run.
func resetFlags() []urfave.Flag {
	return append(arg.EditFlags(),
		arg.TextsFlag("node", "reset the node `ID` and the nodes that need it (can be repeated)", "n"),
		&urfave.BoolFlag{Name: "no-deps", Usage: "reset only the named nodes"},
		&urfave.BoolFlag{Name: "named-only", Usage: "reset only the status of the named nodes, as Smithers does"},
		arg.InputFlag("change members of the parent's input: `JSON`, @FILE, or - for standard input"),
		&urfave.StringFlag{Name: "label", Aliases: []string{"l"}, Usage: "give the fork the label `LABEL`"},
		requests.ForceFlag(),
	)
}

// parseFork reads the request from the command line. The error is invalid_run_id if --run-id is empty. The other errors
// are those of parseResets.
func parseFork(s *session.Session, c *urfave.Context) (app.ForkRequest, error) {
	req := app.ForkRequest{From: c.Args().First(), Description: c.String("description")}
	var err error
	if req.RunID, err = arg.NewRunID(c, "run-id"); err != nil {
		return req, err
	}
	req.Resets, err = parseResets(s, c)
	return req, err
}

// parseResets returns the changes to the state of the new run that the flags of resetFlags describe. The error is usage
// if --no-deps or --named-only is given without --node, or if both flags are given. For --input, --set and --unset, the
// errors are those of arg.ReadInput and arg.ReadEdits.
func parseResets(s *session.Session, c *urfave.Context) (app.Resets, error) {
	out := app.Resets{
		Nodes: arg.Texts(c, "node"), NoDeps: c.Bool("no-deps"), NamedOnly: c.Bool("named-only"), Label: c.String("label"),
		Effects: requests.ConfirmEffects(s, c.Bool("force"), false, false),
	}
	for _, flag := range []string{"no-deps", "named-only"} {
		if c.Bool(flag) && len(out.Nodes) == 0 {
			return out, fault.New(fault.Usage, "--%s needs --node", flag).Hint("add --node ID for each node to reset")
		}
	}
	if out.NoDeps && out.NamedOnly {
		return out, fault.New(fault.Usage, "--no-deps and --named-only do not go together").
			Hint("use --no-deps to remove the outputs of the nodes, or --named-only to keep them, as Smithers does")
	}
	var err error
	if out.Input, err = arg.ReadInput(s, c); err == nil {
		out.Edits, err = arg.ReadEdits(s, c)
	}
	return out, err
}

// runFork makes the fork and prints its id. It also notes the command that continues the fork. If the request names no
// frame, runFork notes the answers that the parent received after the forked frame. With --json, it prints only the
// document of the fork.
func runFork(ctx context.Context, s *session.Session, store *timeline.Store, req app.ForkRequest) error {
	made, err := requests.Open(s, store).Fork(ctx, req)
	if err != nil {
		return err
	}
	doc := describeFork(made.Head)
	if doc.RunAgain, err = runAgain(made.From.Entry, made.Head.State()); err != nil {
		return err
	}
	if s.JSON {
		return s.WriteJSON(doc)
	}
	at := timeline.Address{Run: doc.ParentRunID, Frame: doc.ParentFrame}
	next, err := app.NextCommand(made.Head, " continues the run")
	if err != nil {
		return err
	}
	s.Note("forked from %s; %s", plain.Text(at.String()), next)
	if len(doc.RunAgain) > 0 {
		s.Note("to run again: %s", plain.Text(strings.Join(doc.RunAgain, ", ")))
	}
	if made.From.Bare { // the request names no frame, so made.From is the tip of the parent
		if err := noteAnswersSince(ctx, s, store, made.From.Entry, at); err != nil {
			return err
		}
	}
	return s.Printf("%s\n", plain.Text(doc.ForkedRunID))
}

// runAgain returns the keys of the nodes that had begun in the frame from and are pending or removed in the state of its fork.
func runAgain(from *snapshot.Entry, fork *snapshot.State) (keys []string, err error) {
	state, err := from.State()
	if err != nil {
		return nil, timeline.Explain(err)
	}
	is := make(map[string]snapshot.NodeState)
	for n, err := range fork.AllNodes() {
		if err != nil {
			return nil, timeline.Explain(err)
		}
		is[snapshot.Key(n.NodeID, n.Iteration)] = n.State
	}
	for n, err := range state.AllNodes() {
		if err != nil {
			return nil, timeline.Explain(err)
		}
		key := snapshot.Key(n.NodeID, n.Iteration)
		if now, ok := is[key]; n.State != snapshot.NodePending && (!ok || now == snapshot.NodePending) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// describeFork returns the JSON document of a new fork.
func describeFork(head *timeline.Head) forkDocument {
	doc := describeParent(head.Row())
	doc.Tip, doc.ContentHash = head.Entry().ID.String(), head.Entry().ContentHash.String()
	return doc
}

// describeParent returns a forkDocument with the fields that are known from row, the row of a fork. The caller must set
// the other fields.
func describeParent(row snapshot.Run) forkDocument {
	doc := forkDocument{Kind: "fork", ForkedRunID: row.ID}
	if parent := row.Parent; parent != nil {
		doc.ParentRunID, doc.ParentFrame = parent.RunID, parent.Frame
		if parent.Label != "" {
			doc.BranchLabel = &parent.Label
		}
	}
	return doc
}
