package cli

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/engine"
	"github.com/git-smithers/git-smithers/timeline"
)

// resumeOptions are what resume takes.
type resumeOptions struct {
	run      string
	workflow string // "": the file that the run remembers
	engine   engineSettings
}

func resumeCommand() *command {
	return &command{
		name:    "resume",
		summary: "continue a run from its newest frame",
		usage:   []string{"<run> [<workflow>] [--input JSON] [--wait] [--force] [--yes] [--accept-workflow-change] [--max-parallel N]"},
		about: `Continues a run that was cancelled, that failed, that waits, that was forked, or whose
process died. Finished tasks are not run again; one that was running when the process
died is tried again. The workflow file is the one that the run was started with, unless
another one is named; when its content has changed, the run is left alone, unless
--accept-workflow-change says otherwise. Where that file is not here, as with a run that
came from another machine, it is the workflow that the run keeps.

Commands that were never run in this clone are shown first, and run when that is
confirmed, by --yes for scripts. Naming the workflow file confirms it, too.

The run's input is what it was. --input is laid over it, member by member, and is the
run's from then on.

A run that another process is running is left alone, unless --force takes it over: that
process ends its tasks when it notices, and writes nothing more.`,
		minArgs: 1, maxArgs: 2,
		flags: append([]urfave.Flag{
			&urfave.BoolFlag{Name: "accept-workflow-change", Usage: "continue although the workflow file has changed"},
			inputFlag("lay `JSON`, @FILE, or - for standard input, over the run's input"),
			&urfave.BoolFlag{Name: "force", Usage: "take the run over from a process that is running it"},
			confirmFlag(),
		}, engineFlags()...),
		changes: true,
		exits:   runs(),
		examples: []example{
			{"continue after Ctrl-C", "git smithers resume triage-1"},
			{"continue with a workflow that was mended", "git smithers resume triage-1 triage.yaml --accept-workflow-change"},
			{"continue what was fetched, after a look at its commands", "git smithers resume triage-1"},
		},
		run: func(ctx context.Context, s *session, c *urfave.Context) error {
			opts, err := parseResume(s, c)
			if err != nil {
				return err
			}
			return s.withStore(ctx, func(store *timeline.Store) error { return runResume(ctx, s, store, opts) })
		},
	}
}

func parseResume(s *session, c *urfave.Context) (resumeOptions, error) {
	settings, err := parseEngine(c)
	if err != nil {
		return resumeOptions{}, err
	}
	settings.acceptChange, settings.force, settings.yes = c.Bool("accept-workflow-change"), c.Bool("force"), c.Bool("yes")
	settings.input, err = s.readInput(c)
	return resumeOptions{c.Args().Get(0), c.Args().Get(1), settings}, err
}

// runResume runs what is left of a run.
func runResume(ctx context.Context, s *session, store *timeline.Store, opts resumeOptions) error {
	return s.resume(ctx, store, opts, func(r runResult) any { return r })
}

// resume runs what is left of a run. finish turns the run's row into what --json prints.
func (s *session) resume(ctx context.Context, store *timeline.Store, opts resumeOptions, finish func(runResult) any) error {
	id, err := store.ResolveRunToChange(ctx, opts.run)
	if err != nil {
		return err
	}
	head, err := store.Head(ctx, id)
	if err != nil {
		return err
	}
	if err := refuseForeign(head); err != nil {
		return err
	}
	wf, err := s.workflowOf(ctx, store, head, opts.workflow)
	if err == nil {
		err = s.needWorkDir(store, wf)
	}
	if err != nil {
		return err
	}
	if opts.workflow != "" {
		s.trust(store, wf)
	} else if err := s.agreeToResume(store, head, wf, opts.engine); err != nil {
		return err
	}
	s.note("run %s, from frame %d", plain(id), head.Row().Frame)
	return s.execute(ctx, store, head, wf, opts.engine, finish)
}

// agreeToResume makes sure that the commands of a workflow may run, if any of them will.
func (s *session) agreeToResume(store *timeline.Store, head *timeline.Head, wf *engine.Workflow, settings engineSettings) error {
	if left, err := engine.Check(head, wf, s.engineOptions(store, head, settings)); err != nil || !left {
		return nil //nolint:nilerr // execute tells, and runs nothing
	}
	return s.agree(store, wf, settings.yes)
}
