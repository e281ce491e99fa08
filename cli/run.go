package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/engine"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// defaultParallel is how many tasks of a run are at work at once.
const defaultParallel = 4

// runOptions are what run takes.
type runOptions struct {
	workflow string
	runID    string
	input    json.RawMessage
	engine   engineSettings
}

func runCommand() *command {
	return &command{
		name:    "run",
		summary: "run a workflow and keep every step of it",
		usage:   []string{"<workflow> [--run-id ID] [--input JSON] [--wait] [--max-parallel N]"},
		about: `Runs the tasks of a workflow file in the working copy and commits a frame to the
repository after every change of the run's state. Tasks whose needs are met run side
by side. When a task fails, those under way finish and nothing new starts; the run
can then be looked at, forked, and replayed from any frame.

When all that is left is to wait, for an approval, an answer, a signal or a timer, the
run is left with exit status 3, and resume goes on with it. With --wait it stays.

Ctrl-C asks the tasks to end and leaves a run that resume continues; a second Ctrl-C
kills them at once. Prints the run's id.`,
		minArgs: 1, maxArgs: 1,
		flags: append([]urfave.Flag{
			&urfave.StringFlag{Name: "run-id", Usage: "give the run this `ID`"},
			inputFlag("the run's input: `JSON`, @FILE, or - for standard input"),
		}, engineFlags()...),
		exits: runs(),
		examples: []example{
			{"run a workflow", `git smithers run triage.yaml --input '{"ticket":"T-12"}'`},
			{"name the run and read its input from a file", "git smithers run triage.yaml --run-id triage-1 --input @ticket.json"},
		},
		run: func(ctx context.Context, s *session, c *urfave.Context) error {
			opts, err := parseRun(s, c)
			if err != nil {
				return err
			}
			return s.withStore(ctx, func(store *timeline.Store) error { return runRun(ctx, s, store, opts) })
		},
	}
}

// engineFlags are the flags of every command that runs tasks.
func engineFlags() []urfave.Flag {
	return []urfave.Flag{
		maxParallelFlag(), logsFlag(),
		&urfave.BoolFlag{Name: "wait", Usage: "stay while the run waits for people, signals or timers"},
	}
}

func maxParallelFlag() urfave.Flag {
	return &urfave.IntFlag{
		Name: "max-parallel", Aliases: []string{"p"}, Value: defaultParallel,
		Usage: "run at most `N` tasks side by side",
	}
}

func logsFlag() urfave.Flag {
	return &urfave.BoolFlag{Name: "logs", Usage: "show the logs of tasks as they come"}
}

func parseEngine(c *urfave.Context) (engineSettings, error) {
	n := c.Int("max-parallel")
	if n < 1 {
		return engineSettings{}, fault.New(fault.Usage, "--max-parallel does not take %d", n).
			Hint("it takes a number from 1 on")
	}
	return engineSettings{maxParallel: n, logs: c.Bool("logs"), wait: c.Bool("wait")}, nil
}

func parseRun(s *session, c *urfave.Context) (runOptions, error) {
	settings, err := parseEngine(c)
	if err != nil {
		return runOptions{}, err
	}
	id, err := newRunID(c)
	if err != nil {
		return runOptions{}, err
	}
	settings.file = c.Args().First()
	input, err := s.readInput(c)
	return runOptions{c.Args().First(), id, input, settings}, err
}

// runRun creates a run and runs it.
func runRun(ctx context.Context, s *session, store *timeline.Store, opts runOptions) error {
	wf, err := s.readWorkflow(ctx, opts.workflow)
	if err == nil {
		err = s.needWorkDir(store, wf)
	}
	if err != nil {
		return err
	}
	id := opts.runID
	if id == "" {
		id = timeline.NewRunID()
	}
	now := s.Now()
	draft, err := engine.Initial(id, wf, opts.input, now)
	if err != nil {
		return err
	}
	row := snapshot.Run{ID: id, WorkflowPath: s.storedPath(store, opts.workflow), CreatedAtMs: now.UnixMilli()}
	head, err := s.create(ctx, store, wf, row, draft)
	if err != nil {
		return err
	}
	s.note("run %s", plain(id))
	s.noteEscaped(id)
	opts.engine.captured = true
	return s.execute(ctx, store, head, wf, named, opts.engine, func(r runResult) any { return r })
}

// create makes a run whose frame 0 has the files as they are in the working copy, or in the worktree that the
// workflow asks for, which is opened first.
func (s *session) create(ctx context.Context, store *timeline.Store, wf *engine.Workflow, row snapshot.Run, draft snapshot.Draft) (*timeline.Head, error) {
	spec, own := wf.OwnWorktree(row.ID)
	if !own || store.WorkTree() == "" {
		return s.createOn(ctx, store, store.WorkingCopy(), row, draft)
	}
	opened, err := store.OpenFirstWorktree(ctx, row.ID, spec)
	if err != nil {
		return nil, err
	}
	head, err := s.createOn(ctx, store, opened.WorkingCopy, row, draft)
	if err != nil {
		return nil, errors.Join(err, discard(ctx, opened))
	}
	if err := opened.Settle(); err != nil {
		s.warn(err)
	}
	return head, nil
}

// createOn makes a run whose frame 0 has the files of a working copy. Files that cannot be read are a warning:
// the run is worth having without.
func (s *session) createOn(ctx context.Context, store *timeline.Store, files *timeline.WorkingCopy, row snapshot.Run, draft snapshot.Draft) (*timeline.Head, error) {
	done := s.while("reading the working copy")
	captured, err := files.Capture(ctx)
	done()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		s.warn(fmt.Errorf("the working copy is not captured: %w", err))
	case captured != nil:
		defer func() {
			if err := captured.Close(); err != nil {
				s.warn(err)
			}
		}()
		draft.VCS, draft.Objects = &captured.VCS, captured.Objects
	}
	return store.Create(ctx, row, draft)
}
