package cli

import (
	"context"

	urfave "github.com/urfave/cli/v2"

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
		usage:   []string{"<run> [<workflow>] [--accept-workflow-change] [--max-parallel N]"},
		about: `Continues a run that was cancelled, that failed, that was forked, or whose process
died. Finished tasks are not run again. The workflow file is the one that the run
was started with, unless another one is named; when its content has changed, the run
is left alone, unless --accept-workflow-change says otherwise.`,
		minArgs: 1, maxArgs: 2,
		flags: append([]urfave.Flag{
			&urfave.BoolFlag{Name: "accept-workflow-change", Usage: "continue although the workflow file has changed"},
		}, engineFlags()...),
		exits: runs(),
		examples: []example{
			{"continue after Ctrl-C", "git smithers resume triage-1"},
			{"continue with a workflow that was mended", "git smithers resume triage-1 --accept-workflow-change"},
		},
		run: func(ctx context.Context, s *session, c *urfave.Context) error {
			opts, err := parseResume(c)
			if err != nil {
				return err
			}
			return s.withStore(ctx, func(store *timeline.Store) error { return runResume(ctx, s, store, opts) })
		},
	}
}

func parseResume(c *urfave.Context) (resumeOptions, error) {
	settings, err := parseEngine(c)
	settings.acceptChange = c.Bool("accept-workflow-change")
	return resumeOptions{c.Args().Get(0), c.Args().Get(1), settings}, err
}

// runResume runs what is left of a run.
func runResume(ctx context.Context, s *session, store *timeline.Store, opts resumeOptions) error {
	id, err := store.ResolveRun(ctx, opts.run)
	if err != nil {
		return err
	}
	head, err := store.Head(ctx, id)
	if err != nil {
		return err
	}
	file := opts.workflow
	if file == "" {
		if file, err = s.rememberedPath(store, head.Row()); err != nil {
			return err
		}
	}
	wf, err := s.readWorkflow(ctx, file)
	if err != nil {
		return err
	}
	s.note("run %s, from frame %d", plain(id), head.Row().Frame)
	return s.execute(ctx, store, head, wf, opts.engine, func(r runResult) any { return r })
}
