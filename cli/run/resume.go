package run

import (
	"context"
	"errors"
	"slices"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/app"
	"github.com/git-smithers/git-smithers/cli/arg"
	"github.com/git-smithers/git-smithers/cli/desk"
	"github.com/git-smithers/git-smithers/cli/session"
	"github.com/git-smithers/git-smithers/engine"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// resumeDocument is what resume prints with --json.
type resumeDocument struct {
	desk.RunDocument
	Restored []desk.RestoredDocument `json:"restored,omitempty"`
}

func resumeCommand() *arg.Command {
	return &arg.Command{
		Name:    "resume",
		Summary: "continue a run from its newest frame",
		Usage:   []string{"<run> [<workflow>] [--restore-vcs] [--input JSON] [--wait] [--force] [--yes] [--accept-workflow-change] [--max-parallel N]"},
		About: `Continues a run that was cancelled, that failed, that waits, that was forked, or whose
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
worktree of its own continues in it, wherever it is resumed. A worktree that is not here is
made, with the files of the newest frame.

The run's input is what it was. --input is laid over it, member by member, and is the
run's from then on.

A run that another process is running is left alone, unless --force takes it over: that
process ends its tasks when it notices, and writes nothing more.`,
		MinArgs: 1, MaxArgs: 2,
		Flags: append([]urfave.Flag{
			&urfave.BoolFlag{Name: "accept-workflow-change", Usage: "continue although the workflow file has changed"},
			arg.InputFlag("lay `JSON`, @FILE, or - for standard input, over the run's input"),
			&urfave.BoolFlag{Name: "restore-vcs", Usage: "bring the files of the run's newest frame back first"},
			&urfave.BoolFlag{Name: "force", Usage: "take the run over from a process that is running it"},
			&urfave.BoolFlag{
				Name: "yes", Aliases: []string{"y"},
				Usage: "run the workflow's commands and, with --restore-vcs, remove untracked files, without asking",
			},
		}, desk.EngineFlags()...),
		Changes: true,
		Exits:   arg.Runs(),
		Examples: []arg.Example{
			{"continue after Ctrl-C", "git smithers resume triage-1"},
			{"continue on the files that the run had", "git smithers resume triage-1 --restore-vcs"},
			{"continue with a workflow that was mended", "git smithers resume triage-1 triage.yaml --accept-workflow-change"},
			{"continue what was fetched, after a look at its commands", "git smithers resume triage-1"},
		},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			req, err := parseResume(s, c)
			if err != nil {
				return err
			}
			return s.WithStore(ctx, func(store *timeline.Store) error { return runResume(ctx, s, store, req) })
		},
	}
}

func parseResume(s *session.Session, c *urfave.Context) (app.ResumeRequest, error) {
	req := app.ResumeRequest{
		Run: c.Args().Get(0), Workflow: c.Args().Get(1), AcceptChange: c.Bool("accept-workflow-change"), Force: c.Bool("force"),
		Restore: c.Bool("restore-vcs"), Confirm: desk.ConfirmRemoval(s, c.Bool("yes"), desk.YesRemoves),
	}
	var err error
	if req.Settings, err = desk.ParseSettings(s, c); err != nil {
		return req, err
	}
	req.Input, err = arg.ReadInput(s, c)
	return req, err
}

// runResume continues a run.
func runResume(ctx context.Context, s *session.Session, store *timeline.Store, req app.ResumeRequest) error {
	done, err := desk.Open(s, store).Resume(ctx, req)
	if done != nil {
		doc := resumeDocument{desk.DescribeResult("result", done.Result), desk.DescribeAll(done.Restored)}
		err = desk.TellResult(s, done.Result, err, doc)
	}
	return acceptAsTyped(s, hintOrder(ctx, s, store, req, err), req.Workflow != "")
}

// hintOrder adds to an error about a run the command line with its arguments in order, if the first one is a file and the
// second one a run.
func hintOrder(ctx context.Context, s *session.Session, store *timeline.Store, req app.ResumeRequest, err error) error {
	known, ok := errors.AsType[*fault.Error](err)
	if !ok || known.Code != fault.RunNotFound || req.Workflow == "" || !arg.IsFile(s, req.Run) {
		return err
	}
	run, notRun := store.ResolveRunToChange(ctx, req.Workflow)
	file, id := slices.Index(s.Args, req.Run), slices.Index(s.Args, req.Workflow)
	if notRun != nil || run != req.Workflow || file < 0 || id < 0 {
		return err
	}
	words := slices.Clone(s.Args)
	words[file], words[id] = words[id], words[file]
	return known.Hint("the run comes first: `%s`", fault.CommandLine(arg.Program, words...))
}

// acceptAsTyped keeps, in the hint about a workflow that has changed, the flags that were typed. named reports whether a
// workflow file was.
func acceptAsTyped(s *session.Session, err error, named bool) error {
	known, ok := errors.AsType[*fault.Error](err)
	if !ok || known.Code != fault.WorkflowChanged {
		return err
	}
	file, _ := known.Details["file"].(string)
	more := []string{file, "--accept-workflow-change"}
	if named {
		more = more[1:]
	}
	if command := s.TypedWith(more...); command != "" && file != "" {
		known.Hints[0] = engine.AcceptChange(command)
	}
	return err
}
