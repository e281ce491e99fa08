package back

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/app"
	"github.com/git-smithers/git-smithers/cli/arg"
	"github.com/git-smithers/git-smithers/cli/desk"
	"github.com/git-smithers/git-smithers/cli/session"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

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

func forkCommand() *arg.Command {
	return &arg.Command{
		Name:    "fork",
		Summary: "start a new run from a frame of another",
		Usage:   []string{"<run>[:<frame>] [--node ID]... [--input JSON] [--label L] [--description D] [--run-id ID]"},
		About: `Makes a run whose state is that of the frame; without a frame, that of the run's
newest one. Nothing is copied, and nothing runs yet: resume continues the new run.

--input is laid over the parent's input, member by member. --node makes a task
pending again, without its output, and everything that needs it, directly or not; with
--no-deps the task alone. With --named-only it is done as Smithers does it: the named
tasks are pending, in all their iterations, and nothing else changes: outputs, loops
and what was approved stay.

Prints the new run's id.`,
		MinArgs: 1, MaxArgs: 1,
		Flags: append(resetFlags(),
			&urfave.StringFlag{Name: "run-id", Usage: "give the new run this `ID`"},
			&urfave.StringFlag{Name: "description", Aliases: []string{"d"}, Usage: "say what the fork is for, in `TEXT`"},
		),
		Exits: arg.Writes(),
		Examples: []arg.Example{
			{"try again from frame 3 with another input", `git smithers fork triage-1:3 --input '{"strict":true}' --label strict`},
			{"do one task again, and what needs it", "git smithers fork triage-1 --node analyze"},
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

// resetFlags are the flags with which fork and replay change the child's state.
func resetFlags() []urfave.Flag {
	return []urfave.Flag{
		&urfave.StringSliceFlag{Name: "node", Aliases: []string{"n"}, Usage: "reset the node `ID` and what needs it (can be repeated)"},
		&urfave.BoolFlag{Name: "no-deps", Usage: "reset the named nodes alone"},
		&urfave.BoolFlag{Name: "named-only", Usage: "reset the named nodes as Smithers does: they are pending, and nothing else changes"},
		arg.InputFlag("lay `JSON`, @FILE, or - for standard input, over the parent's input"),
		&urfave.StringFlag{Name: "label", Aliases: []string{"l"}, Usage: "call the fork `LABEL`"},
	}
}

func parseFork(s *session.Session, c *urfave.Context) (app.ForkRequest, error) {
	req := app.ForkRequest{From: c.Args().First(), Description: c.String("description")}
	var err error
	if req.RunID, err = arg.NewRunID(c); err != nil {
		return req, err
	}
	req.Resets, err = parseResets(s, c)
	return req, err
}

// parseResets reads resetFlags.
func parseResets(s *session.Session, c *urfave.Context) (app.Resets, error) {
	out := app.Resets{
		Nodes: c.StringSlice("node"), NoDeps: c.Bool("no-deps"), NamedOnly: c.Bool("named-only"), Label: c.String("label"),
	}
	for _, flag := range []string{"no-deps", "named-only"} {
		if c.Bool(flag) && len(out.Nodes) == 0 {
			return out, fault.New(fault.Usage, "--%s is about the nodes that --node names", flag).Hint("give --node, too")
		}
	}
	if out.NoDeps && out.NamedOnly {
		return out, fault.New(fault.Usage, "--no-deps and --named-only are two ways to reset a node").
			Hint("--no-deps takes away what the node has done; --named-only leaves it there, as Smithers does")
	}
	var err error
	out.Input, err = arg.ReadInput(s, c)
	return out, err
}

// runFork makes the child and prints its id.
func runFork(ctx context.Context, s *session.Session, store *timeline.Store, req app.ForkRequest) error {
	made, err := desk.Open(s, store).Fork(ctx, req)
	if err != nil {
		return err
	}
	doc := describeFork(made.Head)
	if s.JSON {
		return s.WriteJSON(doc)
	}
	at := timeline.Address{Run: doc.ParentRunID, Frame: doc.ParentFrame}
	next, err := app.NextCommand(made.Head, " continues it")
	if err != nil {
		return err
	}
	s.Note("forked from %s; %s", plain.Text(at.String()), next)
	if arg.MeansRun(made.From.Address, req.From) {
		if err := noteAnswersSince(ctx, s, store, made.From.Entry, at); err != nil {
			return err
		}
	}
	return s.Printf("%s\n", plain.Text(doc.ForkedRunID))
}

// describeFork describes a fork that has just been made.
func describeFork(head *timeline.Head) forkDocument {
	doc := describeParent(head.Row())
	doc.Tip, doc.ContentHash = head.Entry().ID.String(), head.Entry().ContentHash.String()
	return doc
}

// describeParent describes a fork by its run's row.
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
