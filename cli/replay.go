package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/engine"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// replayOptions are what replay takes.
type replayOptions struct {
	from     string // an address; the run may be a prefix
	fork     forkOptions
	workflow string // "": the definition that the frame keeps
	engine   engineSettings
	code     bool   // run on the files of the frame, in a working copy of their own
	to       string // where that is made; "" chooses a folder
}

// replayDocument is what replay prints with --json.
type replayDocument struct {
	runResult
	ForkedRunID string  `json:"forkedRunId"`
	ParentRunID string  `json:"parentRunId"`
	ParentFrame int64   `json:"parentFrame"`
	BranchLabel *string `json:"branchLabel"`
	Started     bool    `json:"started"`
	VCSRestored bool    `json:"vcsRestored"`
	VCSPointer  *string `json:"vcsPointer"`
	Path        *string `json:"path"`
}

func replayCommand() *command {
	cmd := &command{
		name:    "replay",
		summary: "fork a run at a frame and run it from there",
		usage: []string{
			"[<workflow>] <run>[:<frame>] [--restore-vcs [--to DIR]] [--node ID]... [--input JSON] [--label L] [--yes]",
			"<workflow> <run>[:<frame>] --engine smithers [--restore-vcs [--to DIR]] [--node ID]... [--input JSON] [--label L]",
		},
		about: `Forks the run at the frame, or at its newest one, and runs the fork. Tasks that were
finished at that frame, and are not reset by --node, do not run again. The workflow is the
one that the frame keeps: with --restore-vcs, all is exactly as it was then. With a workflow
file in front it is that file as it is now: tasks that it no longer has are dropped, new
ones are pending. Commands of a frame that were never run in this clone are shown first,
and run when that is confirmed, by --yes for scripts.

The files are those of the working copy as it is; a warning says where these are not the
files of the frame. With --restore-vcs they are the frame's, in a new working copy: a
linked worktree of git, or a workspace of jj, which is made beside this one and stays for
you to look at. It is the fork's own: resume goes on in it, wherever that is called, also
if the workflow asks for a worktree.

With --engine smithers, the fork is run by Smithers, with a workflow of its own: it is
exported to the database that Smithers uses in this folder, or with --restore-vcs in the
new working copy; Smithers is started to resume it; and what it did is imported. Smithers
is what --engine-command or the setting smithers.engineCommand says, else what npm has
installed for the workflow, else smithers on PATH. --db is for workflows that keep their
database elsewhere.

Prints the new run's id.`,
		maxArgs: 2,
		flags: append([]urfave.Flag{
			&urfave.BoolFlag{Name: "restore-vcs", Usage: "run on the files of the frame, in a new working copy"},
			&urfave.StringFlag{Name: "to", Usage: "make the new working copy in `DIR`"}, confirmFlag(),
		}, slices.Concat(resetFlags(), targetFlags(), engineFlags(), foreignFlags())...),
		exits: runs(),
		examples: []example{
			{"try again exactly as it was: state, workflow and files", "git smithers replay triage-1:6 --restore-vcs"},
			{"mend the workflow, then try again from before the failure", "git smithers replay triage.yaml triage-1:6"},
			{"try again on the code as it was then", "git smithers replay triage.yaml triage-1:6 --restore-vcs"},
			{"try again with another input", `git smithers replay triage.yaml triage-1:6 --input '{"strict":false}' --label lenient`},
			{"have Smithers try again", "git smithers replay triage.tsx triage-1:6 --engine smithers"},
		},
	}
	cmd.run = func(ctx context.Context, s *session, c *urfave.Context) error {
		opts, err := parseReplay(s, cmd, c)
		if err != nil {
			return err
		}
		foreign, err := parseForeign(c, opts)
		if err != nil {
			return err
		}
		return s.withStore(ctx, func(store *timeline.Store) error {
			if foreign != nil {
				return runForeignReplay(ctx, s, store, foreign)
			}
			return runReplay(ctx, s, store, opts)
		})
	}
	return cmd
}

func parseReplay(s *session, cmd *command, c *urfave.Context) (replayOptions, error) {
	of, err := parseTarget(s, cmd, c)
	if err != nil {
		return replayOptions{}, err
	}
	if to := c.String("to"); c.IsSet("to") && (to == "" || !c.Bool("restore-vcs")) {
		return replayOptions{}, fault.New(fault.Usage, "--to names the folder that --restore-vcs makes").
			Hint("give both, for example --restore-vcs --to ../again")
	}
	settings, err := parseEngine(c)
	if err != nil {
		return replayOptions{}, err
	}
	settings.yes, settings.file = c.Bool("yes"), of.workflow
	fork, err := parseResets(s, c)
	return replayOptions{
		from: of.address, fork: fork, workflow: of.workflow, engine: settings, code: c.Bool("restore-vcs"), to: c.String("to"),
	}, err
}

// runReplay forks a frame, fits its state to the workflow, and runs the fork.
func runReplay(ctx context.Context, s *session, store *timeline.Store, opts replayOptions) error {
	at, wf, err := s.replayed(ctx, store, opts)
	if err != nil {
		return err
	}
	from, id := at.Address.String(), timeline.NewRunID()
	var made *timeline.CheckedOut
	if opts.code {
		if made, err = s.checkOut(ctx, store, from, id, opts.to); err != nil {
			return err
		}
		opts.engine.files = made.WorkingCopy
	} else {
		opts.engine.baseFiles, opts.engine.bringFiles = true, s.bringByReplay()
	}
	head, err := forkForReplay(ctx, s, store, wf, from, id, opts)
	if err != nil {
		return errors.Join(err, discard(ctx, made))
	}
	if err := made.Settle(); err != nil {
		s.warn(err)
	}
	fork := describeFork(head)
	s.note("run %s, forked from %s", plain(fork.ForkedRunID), plain(from))
	return s.execute(ctx, store, head, wf, named, opts.engine, func(r runResult) any {
		r.Kind = "replay"
		doc := replayDocument{
			runResult: r, ForkedRunID: fork.ForkedRunID, ParentRunID: fork.ParentRunID, ParentFrame: fork.ParentFrame,
			BranchLabel: fork.BranchLabel, Started: true,
		}
		if made != nil {
			doc.VCSRestored, doc.Path = true, new(made.WorkingCopy.Root())
			doc.VCSPointer = new(made.VCS.Pointer())
		}
		return doc
	})
}

// replayed finds the frame that is replayed and the workflow that runs it: the file that the command line names, or
// the definition that the frame keeps, once somebody agreed to it.
func (s *session) replayed(ctx context.Context, store *timeline.Store, opts replayOptions) (*timeline.Loaded, *engine.Workflow, error) {
	wf, err := s.namedWorkflow(ctx, opts.workflow)
	if err != nil && isScript(opts.workflow) {
		err = s.describe(err).Hint("`--engine smithers` has Smithers run a workflow that is a program")
	}
	if err != nil {
		return nil, nil, err
	}
	at, err := store.Load(ctx, opts.from)
	if err == nil && wf == nil {
		wf, err = frameWorkflow(at)
	}
	if err == nil && !opts.code {
		err = s.needWorkDir(store, wf)
	}
	if err == nil && opts.workflow == "" {
		_, err = consent(store, wf, s.asking(opts.engine))
	}
	return at, wf, err
}

// frameWorkflow is the workflow that a frame keeps.
func frameWorkflow(at *timeline.Loaded) (*engine.Workflow, error) {
	kept, err := at.Entry.Workflow()
	if err != nil {
		return nil, timeline.Explain(err)
	}
	var wf *engine.Workflow
	if kept != nil {
		wf, err = engine.Parse("the workflow of "+at.Address.String(), kept.Definition)
	}
	if wf == nil || err != nil {
		return nil, fault.New(fault.Usage, "%s keeps no workflow of ours that could run again", at.Address).
			Hint("name a workflow file: `%s`", commandLine(program, "replay", "WORKFLOW", at.Address.String()))
	}
	return wf, nil
}

// bringByReplay says by which command the frame is replayed on its own files: the one that was typed, with a flag more.
func (s *session) bringByReplay() string {
	command := s.typedWith("--restore-vcs")
	if command == "" {
		return "the same command with --restore-vcs runs on the files of the frame"
	}
	return fmt.Sprintf("`%s` runs on the files of the frame", command)
}

// checkOut makes the working copy on which the run id is going to run.
func (s *session) checkOut(ctx context.Context, store *timeline.Store, from, id, to string) (*timeline.CheckedOut, error) {
	req := timeline.CheckoutRequest{From: from, Name: id, Run: id, Own: true}
	if to != "" {
		req.Dir = s.path(to)
	}
	over := s.while("checking the files out")
	made, err := store.Checkout(ctx, req)
	over()
	if err != nil {
		return nil, err
	}
	s.note("the files of %s are in %s", plain(from), plain(made.WorkingCopy.Root()))
	s.noteIncomplete(made.VCS)
	return made, nil
}

// discard removes the working copy of a run that was not made; nil is none.
func discard(ctx context.Context, made *timeline.CheckedOut) error {
	if made == nil {
		return nil
	}
	return made.Discard(context.WithoutCancel(ctx))
}

// forkForReplay forks a frame into the run id, fitted to the workflow.
func forkForReplay(ctx context.Context, s *session, store *timeline.Store, wf *engine.Workflow, from, id string,
	opts replayOptions,
) (*timeline.Head, error) {
	reset := engine.ReconcileRequest{Workflow: wf, Reset: opts.fork.nodes, NoDeps: opts.fork.noDeps || opts.fork.namedOnly}
	req := timeline.ForkRequest{
		From: from, RunID: id, Nodes: opts.fork.nodes, NoDeps: opts.fork.noDeps, NamedOnly: opts.fork.namedOnly,
		Input: opts.fork.input, Label: opts.fork.label, Description: "Replay from " + from,
		Prepare: func(state *snapshot.State) ([]snapshot.Change, error) {
			return engine.Reconcile(state, reset)
		},
		CheckInput: wf.ValidateInput,
		Replay:     true, RestoreVCS: opts.code,
		Workflow: wf.Snapshot(), KeepsWorkflow: opts.workflow == "",
	}
	if opts.workflow != "" {
		req.WorkflowPath = s.storedPath(store, opts.workflow)
	}
	return store.Fork(ctx, req)
}
