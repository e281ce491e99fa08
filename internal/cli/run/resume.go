package run

import (
	"context"
	"errors"
	"slices"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// resumeDocument is the document of resume --json.
type resumeDocument struct {
	requests.RunDocument
	Restored []requests.RestoredDocument `json:"restored,omitempty"`
}

func resumeCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "resume",
		Summary: "continue a run from its newest frame",
		Usage: []string{
			"[<workflow>] <run> [--restore-vcs] [--input JSON] [--wait] [--force] [--yes] [--trust-files RUN] [--accept-workflow-change] [--max-parallel N] [--dry-run]",
			"--failed [--since TIME] [--workflow NAME] [--yes | --dry-run]",
		},
		About: `Continues a run that was cancelled, failed or forked, that waits, or whose process died.
Finished tasks do not run again; a task that was running when the process died is tried
again. The run continues with the workflow file that it was started with, unless you name
another one. If the file does not exist, as for a run from another machine, the run continues
with the workflow stored in it.

If the content of the file has changed, resume shows the difference at a terminal and asks.
Elsewhere, and if the run's own commands never ran in this clone, as those of a fetched run,
resume refuses, unless you add --accept-workflow-change.

Commands that never ran in this clone are shown first, and run after you confirm them; --yes
confirms them in scripts. Naming the workflow file also confirms its commands. Of a workflow that
has changed since it ran in this clone, only new commands are shown.

If this clone has not recorded the run, resume asks before commands run on its files, in the run's
worktree or with --restore-vcs, and refuses to continue it in your own files. --trust-files RUN
allows both.

Tasks work in the current files; a warning says if they differ from the files of the run's
newest frame. --restore-vcs restores the newest frame's files first: like restore, it saves
unsaved changes as a frame before. A run with its own worktree continues in it, wherever you
type resume. If the worktree does not exist, resume makes it, with the files of the newest
frame.

The run keeps its input. --input changes single members of it from then on.

A run that another process is running is refused. --force takes it over: the other process
ends its tasks when it notices, and writes nothing more.

--dry-run says task by task what resume would do and why, with what each task took last time,
and writes nothing.

--failed continues every run that failed, in the order in which they failed, one after the
other. At a terminal it shows what will run and asks, if there are several; --yes does not
ask. A run is skipped and named if people must decide first (commands new to this clone, a
changed workflow, a denied approval), if another process executes it, and if a fork that was
made after the failure has finished. The exit status is that of the run that ended worst.`,
		MaxArgs: 2,
		Flags: append([]urfave.Flag{
			arg.RunIDFlag(),
			&urfave.BoolFlag{Name: "accept-workflow-change", Usage: "continue even if the workflow file has changed"},
			arg.InputFlag("change members of the run's input: `JSON`, @FILE, or - for standard input"),
			&urfave.BoolFlag{Name: "restore-vcs", Usage: "restore the files of the run's newest frame first"},
			&urfave.BoolFlag{Name: "force", Usage: "take over a run that another process is running"},
			&urfave.BoolFlag{
				Name: "yes", Aliases: []string{"y"},
				Usage: "run the workflow's commands and, with --restore-vcs, remove untracked files, without asking",
			},
			requests.TrustFilesFlag(),
		}, append(failedFlags(), requests.EngineFlags()...)...),
		Changes: true,
		Exits:   arg.Runs(),
		Examples: []arg.Example{
			{"continue after Ctrl-C", "git smithers resume triage-1"},
			{"continue with the files of the run's newest frame", "git smithers resume triage-1 --restore-vcs"},
			{"continue with a fixed workflow", "git smithers resume triage.yaml triage-1 --accept-workflow-change"},
			{"see what would run", "git smithers resume triage-1 --dry-run"},
			{"see what would run of all that failed since yesterday", "git smithers resume --failed --since 1d --dry-run"},
			{"retry all of it", "git smithers resume --failed --since 1d"},
			{"continue a fetched run, after a look at its commands", "git smithers resume triage-1"},
		},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		if c.Bool("failed") {
			req, err := parseFailed(s, cmd, c)
			if err != nil {
				return err
			}
			return s.WithStore(ctx, func(store *timeline.Store) error {
				return runFailed(ctx, s, store, req, c.Bool("dry-run"), c.Bool("yes"))
			})
		}
		for _, flag := range []string{"since", "workflow"} {
			if c.IsSet(flag) {
				return cmd.Misused("--%s needs --failed", flag)
			}
		}
		req, err := parseResume(s, cmd, c)
		if err != nil {
			return err
		}
		return s.WithStore(ctx, func(store *timeline.Store) error {
			if c.Bool("dry-run") {
				req.Settings = requests.DryRunSettings(req.Settings, c.Bool("yes"))
				plan, err := requests.Open(s, store).PlanResume(ctx, req)
				return acceptAsTyped(s, requests.TellPlan(s, plan, err), req.Workflow != "")
			}
			return runResume(ctx, s, store, req)
		})
	}
	return cmd
}

// parseResume reads the request from the command line. The errors are those of arg.ParseTarget, requests.ParseSettings and arg.ReadInput.
func parseResume(s *session.Session, cmd *arg.Command, c *urfave.Context) (req app.ResumeRequest, err error) {
	of, err := arg.ParseTarget(s, cmd, c)
	if err != nil {
		return req, err
	}
	req = app.ResumeRequest{
		Run: of.Address, Workflow: of.Workflow, Change: requests.AskForChange(s), AcceptChange: c.Bool("accept-workflow-change"), Force: c.Bool("force"),
		Restore: c.Bool("restore-vcs"), Confirm: requests.ConfirmRemoval(s, c.Bool("yes"), requests.YesRemoves),
	}
	if req.Settings, err = requests.ParseSettings(s, c); err != nil {
		return req, err
	}
	req.Input, err = arg.ReadInput(s, c)
	return req, err
}

// runResume continues a run, and prints how the run ended or why it waits. For workflow_changed, the hint is the
// typed command line with a correction, see acceptAsTyped.
func runResume(ctx context.Context, s *session.Session, store *timeline.Store, req app.ResumeRequest) error {
	requests.NoteUnmasked(s, store)
	done, err := requests.Open(s, store).Resume(ctx, req)
	if done != nil {
		doc := resumeDocument{requests.DescribeResult("result", done.Result), requests.DescribeAll(done.Restored)}
		err = requests.TellResult(s, done.Result, err, doc)
	}
	return acceptAsTyped(s, err, req.Workflow != "")
}

// acceptAsTyped changes the first hint of the error workflow_changed. The new hint is the typed command line with the
// flags of the error. named reports whether the command line names a workflow file. If named is false, the
// new hint also names the changed file. For any other error, or if the typed command line is unknown, acceptAsTyped
// returns err unchanged.
func acceptAsTyped(s *session.Session, err error, named bool) error {
	known, ok := errors.AsType[*fault.Error](err)
	if !ok || known.Code != fault.WorkflowChanged {
		return err
	}
	file, _ := known.Details["file"].(string)
	flags, _ := known.Details["flags"].([]string)
	at := slices.Index(s.Args, "resume") + 1
	if file == "" || at == 0 {
		return err
	}
	retyped := *s
	if !named {
		retyped.Args = slices.Insert(slices.Clone(s.Args), at, file)
	}
	if command := retyped.TypedWith(flags...); command != "" {
		known.Hints[0] = engine.AcceptChange(command)
	}
	return err
}
