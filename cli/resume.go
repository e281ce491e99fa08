package cli

import (
	"context"
	"errors"
	"slices"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/engine"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// resumeOptions are what resume takes.
type resumeOptions struct {
	run      string
	workflow string // "": the file that the run remembers
	restore  bool   // bring the files of the newest frame back first
	engine   engineSettings
}

// resumeDocument is what resume prints with --json.
type resumeDocument struct {
	runResult
	Restored []restoredDocument `json:"restored,omitempty"`
}

func resumeCommand() *command {
	return &command{
		name:    "resume",
		summary: "continue a run from its newest frame",
		usage:   []string{"<run> [<workflow>] [--restore-vcs] [--input JSON] [--wait] [--force] [--yes] [--accept-workflow-change] [--max-parallel N]"},
		about: `Continues a run that was cancelled, that failed, that waits, that was forked, or whose
process died. Finished tasks are not run again; one that was running when the process
died is tried again. The workflow file is the one that the run was started with, unless
another one is named; when its content has changed, the run is left alone, unless
--accept-workflow-change says otherwise. Where that file is not here, as with a run that
came from another machine, it is the workflow that the run keeps.

Commands that were never run in this clone are shown first, and run when that is
confirmed, by --yes for scripts. Naming the workflow file confirms it, too.

Tasks work in the files as they are; a warning says where these are not the files of the
run's newest frame. With --restore-vcs they are made those of the newest frame first, as
restore does it: what is there and in no frame is captured before. A run that has a
worktree of its own goes on in it, wherever it is resumed. A worktree that is not here is
made, with the files of the newest frame.

The run's input is what it was. --input is laid over it, member by member, and is the
run's from then on.

A run that another process is running is left alone, unless --force takes it over: that
process ends its tasks when it notices, and writes nothing more.`,
		minArgs: 1, maxArgs: 2,
		flags: append([]urfave.Flag{
			&urfave.BoolFlag{Name: "accept-workflow-change", Usage: "continue although the workflow file has changed"},
			inputFlag("lay `JSON`, @FILE, or - for standard input, over the run's input"),
			&urfave.BoolFlag{Name: "restore-vcs", Usage: "bring the files of the run's newest frame back first"},
			&urfave.BoolFlag{Name: "force", Usage: "take the run over from a process that is running it"},
			&urfave.BoolFlag{
				Name: "yes", Aliases: []string{"y"},
				Usage: "run the workflow's commands and, with --restore-vcs, remove untracked files, without asking",
			},
		}, engineFlags()...),
		changes: true,
		exits:   runs(),
		examples: []example{
			{"continue after Ctrl-C", "git smithers resume triage-1"},
			{"continue on the files that the run had", "git smithers resume triage-1 --restore-vcs"},
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
	settings.file = c.Args().Get(1)
	settings.input, err = s.readInput(c)
	return resumeOptions{c.Args().Get(0), settings.file, c.Bool("restore-vcs"), settings}, err
}

// runResume runs what is left of a run.
func runResume(ctx context.Context, s *session, store *timeline.Store, opts resumeOptions) error {
	head, err := openRun(ctx, store, opts.run)
	err = s.hintOrder(ctx, store, opts, err)
	if err == nil {
		err = refuseForeign(head)
	}
	if err != nil {
		return err
	}
	file, err := s.namedWorkflow(ctx, opts.workflow)
	if err != nil {
		return err
	}
	if opts.restore {
		if opts.engine.back, err = newFilesBack(s, store, head, opts.engine.yes); err != nil {
			return err
		}
		opts.engine.back.file = s.workflowFile(store, head.Row(), opts.workflow)
	}
	err = s.resume(ctx, store, head, file, opts.engine, func(r runResult) any {
		return resumeDocument{r, opts.engine.back.documents()}
	})
	return s.acceptAsTyped(err, opts.workflow != "")
}

// hintOrder adds to an error about a run the command line with its arguments in order, if the first one is a file and the
// second one a run.
func (s *session) hintOrder(ctx context.Context, store *timeline.Store, opts resumeOptions, err error) error {
	known, ok := errors.AsType[*fault.Error](err)
	if !ok || known.Code != fault.RunNotFound || opts.workflow == "" || !s.isFile(opts.run) {
		return err
	}
	run, notRun := store.ResolveRunToChange(ctx, opts.workflow)
	file, id := slices.Index(s.args, opts.run), slices.Index(s.args, opts.workflow)
	if notRun != nil || run != opts.workflow || file < 0 || id < 0 {
		return err
	}
	words := slices.Clone(s.args)
	words[file], words[id] = words[id], words[file]
	return known.Hint("the run comes first: `%s`", commandLine(program, words...))
}

// acceptAsTyped keeps, in the hint about a workflow that has changed, the flags that were typed. named reports whether a
// workflow file was.
func (s *session) acceptAsTyped(err error, named bool) error {
	known, ok := errors.AsType[*fault.Error](err)
	if !ok || known.Code != fault.WorkflowChanged {
		return err
	}
	file, _ := known.Details["file"].(string)
	more := []string{file, "--accept-workflow-change"}
	if named {
		more = more[1:]
	}
	if command := s.typedWith(more...); command != "" && file != "" {
		known.Hints[0] = engine.AcceptChange(command)
	}
	return err
}

// resume runs what is left of a run. file is the workflow file that the command line names, as
// it was when the command began; nil if it names none. finish turns the run's row into what
// --json prints.
func (s *session) resume(ctx context.Context, store *timeline.Store, head *timeline.Head, file *engine.Workflow,
	settings engineSettings, finish func(runResult) any,
) error {
	wf, ask := file, consenter(named)
	if file == nil {
		var err error
		if wf, err = s.workflowOf(ctx, store, head, settings.acceptChange); err != nil {
			return err
		}
		ask = s.asking(settings)
	}
	if err := s.needWorkDir(store, wf); err != nil {
		return err
	}
	settings.resumes = true
	return s.execute(ctx, store, head, wf, ask, settings, finish)
}
