package run

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/timeline"
)

func runCommand() *arg.Command {
	return &arg.Command{
		Name:    "run",
		Summary: "run a workflow and record every step",
		Usage:   []string{"<workflow> [--run-id ID] [--input JSON] [--wait] [--max-parallel N] [--dry-run]"},
		About: `Runs the tasks of a workflow file in the working copy and commits a frame to the
repository after every change of the run's state. Tasks whose needs are met run side by
side. If a task fails, the running tasks finish and no new task starts; you can then look
at the run, fork it, and replay it from any frame.

If every remaining task waits, for an approval, an answer, a signal or a timer, the command
exits with status 3, and resume continues the run. With --wait, the command stays.

Ctrl-C asks the tasks to end; resume continues the run later. A second Ctrl-C kills the
tasks at once. Prints the run's id.

--dry-run says task by task what would happen if every command succeeds: it runs, its result
is in the cache, its condition does not hold, it waits. What depends on outputs that are not
known yet may run.`,
		MinArgs: 1, MaxArgs: 1,
		Flags: append([]urfave.Flag{
			&urfave.StringFlag{Name: "run-id", Usage: "give the run this `ID`"},
			arg.InputFlag("the run's input: `JSON`, @FILE, or - for standard input"),
			requests.DryRunFlag(),
		}, requests.EngineFlags()...),
		Exits: arg.Runs(),
		Examples: []arg.Example{
			{"run a workflow", `git smithers run triage.yaml --input '{"ticket":"T-12"}'`},
			{"see what would run", `git smithers run triage.yaml --input '{"ticket":"T-12"}' --dry-run`},
			{"choose the run's id and read its input from a file", "git smithers run triage.yaml --run-id triage-1 --input @ticket.json"},
		},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			req, err := parseRun(s, c)
			if err != nil {
				return err
			}
			return s.WithStore(ctx, func(store *timeline.Store) error {
				if c.Bool("dry-run") {
					plan, err := requests.Open(s, store).PlanRun(ctx, req)
					return requests.TellPlan(s, plan, err)
				}
				return runRun(ctx, s, store, req)
			})
		},
	}
}

// parseRun reads the request from the command line. The errors are those of requests.ParseSettings, arg.NewRunID and
// arg.ReadInput.
func parseRun(s *session.Session, c *urfave.Context) (app.RunRequest, error) {
	req := app.RunRequest{Workflow: c.Args().First()}
	var err error
	if req.Settings, err = requests.ParseSettings(s, c); err != nil {
		return req, err
	}
	if req.RunID, err = arg.NewRunID(c, "run-id"); err != nil {
		return req, err
	}
	req.Input, err = arg.ReadInput(s, c)
	return req, err
}

// runRun creates a run, executes it, and prints how the run ended or why it waits. If there is no result, it prints
// nothing and returns the error.
func runRun(ctx context.Context, s *session.Session, store *timeline.Store, req app.RunRequest) error {
	requests.NoteUnmasked(s, store)
	result, err := requests.Open(s, store).Run(ctx, req)
	if result == nil {
		return err
	}
	return requests.TellResult(s, result, err, requests.DescribeResult("result", result))
}
