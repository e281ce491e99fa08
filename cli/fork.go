package cli

import (
	"context"
	"encoding/json"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/engine"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// forkOptions are what fork takes.
type forkOptions struct {
	from        string
	nodes       []string
	noDeps      bool
	namedOnly   bool
	input       json.RawMessage
	label       string
	description string
	runID       string
}

// forkDocument is what fork prints with --json.
type forkDocument struct {
	Kind        string  `json:"kind"`
	ForkedRunID string  `json:"forkedRunId"`
	ParentRunID string  `json:"parentRunId"`
	ParentFrame int64   `json:"parentFrame"`
	BranchLabel *string `json:"branchLabel"`
	Tip         string  `json:"tip"`
	ContentHash string  `json:"contentHash"`
	Started     bool    `json:"started"`
}

func forkCommand() *command {
	return &command{
		name:    "fork",
		summary: "start a new run from a frame of another",
		usage:   []string{"<run>[:<frame>] [--node ID]... [--input JSON] [--label L] [--description D] [--run-id ID]"},
		about: `Makes a run whose state is that of the frame; without a frame, that of the run's
newest one. Nothing is copied, and nothing runs yet: resume continues the new run.

--input is laid over the parent's input, member by member. --node makes a task
pending again, without its output, and everything that needs it, directly or not; with
--no-deps the task alone. With --named-only it is done as Smithers does it: the named
tasks are pending, in all their iterations, and nothing else changes: outputs, loops
and what was approved stay.

Prints the new run's id.`,
		minArgs: 1, maxArgs: 1,
		flags: append(resetFlags(),
			&urfave.StringFlag{Name: "run-id", Usage: "give the new run this `ID`"},
			&urfave.StringFlag{Name: "description", Aliases: []string{"d"}, Usage: "say what the fork is for, in `TEXT`"},
		),
		exits: writes(),
		examples: []example{
			{"try again from frame 3 with another input", `git smithers fork triage-1:3 --input '{"strict":true}' --label strict`},
			{"do one task again, and what needs it", "git smithers fork triage-1 --node analyze"},
		},
		run: func(ctx context.Context, s *session, c *urfave.Context) error {
			opts, err := parseFork(s, c)
			if err != nil {
				return err
			}
			return s.withStore(ctx, func(store *timeline.Store) error { return runFork(ctx, s, store, opts) })
		},
	}
}

// resetFlags are the flags with which fork and replay change the child's state.
func resetFlags() []urfave.Flag {
	return []urfave.Flag{
		&urfave.StringSliceFlag{Name: "node", Aliases: []string{"n"}, Usage: "reset the node `ID` and what needs it (can be repeated)"},
		&urfave.BoolFlag{Name: "no-deps", Usage: "reset the named nodes alone"},
		&urfave.BoolFlag{Name: "named-only", Usage: "reset the named nodes as Smithers does: they are pending, and nothing else changes"},
		inputFlag("lay `JSON`, @FILE, or - for standard input, over the parent's input"),
		&urfave.StringFlag{Name: "label", Aliases: []string{"l"}, Usage: "call the fork `LABEL`"},
	}
}

func parseFork(s *session, c *urfave.Context) (forkOptions, error) {
	id, err := newRunID(c)
	if err != nil {
		return forkOptions{}, err
	}
	opts, err := parseResets(s, c)
	opts.from, opts.description, opts.runID = c.Args().First(), c.String("description"), id
	return opts, err
}

// parseResets reads resetFlags.
func parseResets(s *session, c *urfave.Context) (forkOptions, error) {
	opts := forkOptions{
		nodes: c.StringSlice("node"), noDeps: c.Bool("no-deps"), namedOnly: c.Bool("named-only"), label: c.String("label"),
	}
	for _, flag := range []string{"no-deps", "named-only"} {
		if c.Bool(flag) && len(opts.nodes) == 0 {
			return opts, fault.New(fault.Usage, "--%s is about the nodes that --node names", flag).Hint("give --node, too")
		}
	}
	if opts.noDeps && opts.namedOnly {
		return opts, fault.New(fault.Usage, "--no-deps and --named-only are two ways to reset a node").
			Hint("--no-deps takes away what the node has done; --named-only leaves it there, as Smithers does")
	}
	var err error
	opts.input, err = s.readInput(c)
	return opts, err
}

// runFork makes the child and prints its id.
func runFork(ctx context.Context, s *session, store *timeline.Store, opts forkOptions) error {
	check, err := storedInputCheck(ctx, store, opts)
	if err != nil {
		return err
	}
	from, err := store.Load(ctx, opts.from)
	if err != nil {
		return err
	}
	head, err := store.Fork(ctx, timeline.ForkRequest{
		CheckInput: check,
		From:       opts.from, RunID: opts.runID, Nodes: opts.nodes, NoDeps: opts.noDeps, NamedOnly: opts.namedOnly,
		Input: opts.input, Label: opts.label, Description: opts.description,
	})
	if err != nil {
		return err
	}
	doc := describeFork(head)
	if s.json {
		return s.writeJSON(doc)
	}
	at := timeline.Address{Run: doc.ParentRunID, Frame: doc.ParentFrame}
	next, err := nextCommand(head, " continues it")
	if err != nil {
		return err
	}
	s.note("forked from %s; %s", plain(at.String()), next)
	if meansRun(from.Address, opts.from) {
		if err := s.noteAnswersSince(ctx, store, from.Entry, at); err != nil {
			return err
		}
	}
	return s.printf("%s\n", plain(doc.ForkedRunID))
}

// storedInputCheck is the input check of the workflow that the frame was run with.
// It is nil where no input is given, and where the frame has no workflow of ours.
func storedInputCheck(ctx context.Context, store *timeline.Store, opts forkOptions) (func(json.RawMessage) error, error) {
	if opts.input == nil {
		return nil, nil
	}
	loaded, err := store.Load(ctx, opts.from)
	if err != nil {
		return nil, err
	}
	stored, err := loaded.Entry.Workflow()
	if err != nil || stored == nil {
		return nil, err
	}
	wf, err := engine.Parse("workflow of "+loaded.Address.String(), stored.Definition)
	if err != nil {
		return nil, nil //nolint:nilerr // another engine's definition is its own to check
	}
	return wf.ValidateInput, nil
}

// describeFork says what a fork is that has just been made.
func describeFork(head *timeline.Head) forkDocument {
	row := head.Row()
	doc := forkDocument{
		Kind: "fork", ForkedRunID: row.ID, Tip: head.Entry().ID.String(), ContentHash: head.Entry().ContentHash.String(),
	}
	if parent := row.Parent; parent != nil {
		doc.ParentRunID, doc.ParentFrame = parent.RunID, parent.Frame
		if parent.Label != "" {
			doc.BranchLabel = &parent.Label
		}
	}
	return doc
}
