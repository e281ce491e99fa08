package cli

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/engine"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// replayOptions are what replay takes.
type replayOptions struct {
	from     timeline.Address // the run may be a prefix
	fork     forkOptions
	workflow string
	engine   engineSettings
}

// replayDocument is what replay prints with --json.
type replayDocument struct {
	runResult
	ForkedRunID string  `json:"forkedRunId"`
	ParentRunID string  `json:"parentRunId"`
	ParentFrame int64   `json:"parentFrame"`
	BranchLabel *string `json:"branchLabel"`
	Started     bool    `json:"started"`
}

func replayCommand() *command {
	return &command{
		name:    "replay",
		summary: "fork a run at a frame and run it from there",
		usage:   []string{"<workflow> --run-id R --frame N [--node ID]... [--input JSON] [--label L]"},
		about: `Forks the run R at frame N and runs the fork with the workflow file as it is now,
which may have changed: tasks that it no longer has are dropped, new ones are
pending. Tasks that were finished at that frame, and are not reset by --node, do not
run again.

Prints the new run's id.`,
		minArgs: 1, maxArgs: 1,
		required: []string{"run-id", "frame"},
		flags: append([]urfave.Flag{
			&urfave.StringFlag{Name: "run-id", Aliases: []string{"r"}, Usage: "the `RUN` to replay, or a unique prefix of it (required)"},
			&urfave.Int64Flag{Name: "frame", Aliases: []string{"f"}, Usage: "the frame `N` to start from (required)"},
		}, append(resetFlags(), engineFlags()...)...),
		exits: runs(),
		examples: []example{
			{"mend the workflow, then try again from before the failure", "git smithers replay triage.yaml --run-id triage-1 --frame 6"},
			{"try again with another input", `git smithers replay triage.yaml -r triage-1 -f 6 --input '{"strict":false}' --label lenient`},
		},
		run: func(ctx context.Context, s *session, c *urfave.Context) error {
			opts, err := parseReplay(s, c)
			if err != nil {
				return err
			}
			return s.withStore(ctx, func(store *timeline.Store) error { return runReplay(ctx, s, store, opts) })
		},
	}
}

func parseReplay(s *session, c *urfave.Context) (replayOptions, error) {
	if frame := c.Int64("frame"); frame < 0 {
		return replayOptions{}, fault.New(fault.InvalidAddress, "--frame does not take %d", frame).
			Hint("frames are numbered from 0")
	}
	settings, err := parseEngine(c)
	if err != nil {
		return replayOptions{}, err
	}
	input, err := s.readInput(c)
	return replayOptions{
		from: timeline.Address{Run: c.String("run-id"), Frame: c.Int64("frame")},
		fork: forkOptions{
			nodes: c.StringSlice("node"), noDeps: c.Bool("no-deps"), input: input, label: c.String("label"),
		},
		workflow: c.Args().First(), engine: settings,
	}, err
}

// runReplay forks a frame, fits its state to the workflow, and runs the fork.
func runReplay(ctx context.Context, s *session, store *timeline.Store, opts replayOptions) error {
	wf, err := s.readWorkflow(ctx, opts.workflow)
	if err != nil {
		return err
	}
	run, err := store.ResolveRun(ctx, opts.from.Run)
	if err != nil {
		return err
	}
	from := timeline.Address{Run: run, Frame: opts.from.Frame}.String()
	reset := engine.ReconcileRequest{Workflow: wf, Reset: opts.fork.nodes, NoDeps: opts.fork.noDeps}
	head, err := store.Fork(ctx, timeline.ForkRequest{
		From: from, Nodes: opts.fork.nodes, NoDeps: opts.fork.noDeps, Input: opts.fork.input,
		Label: opts.fork.label, Description: "Replay from " + from,
		Prepare: func(state *snapshot.State) ([]snapshot.Change, error) {
			return engine.Reconcile(state, reset)
		},
		CheckInput: wf.ValidateInput,
		Workflow:   wf.Snapshot(), WorkflowPath: s.storedPath(store, opts.workflow),
	})
	if err != nil {
		return err
	}
	fork := describeFork(head)
	s.note("run %s, forked from %s", plain(fork.ForkedRunID), plain(from))
	return s.execute(ctx, store, head, wf, opts.engine, func(r runResult) any {
		r.Kind = "replay"
		return replayDocument{r, fork.ForkedRunID, fork.ParentRunID, fork.ParentFrame, fork.BranchLabel, true}
	})
}
