package cli

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/app"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// defaultParallel is how many tasks of a run are at work at once.
const defaultParallel = 4

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
			req, err := parseRun(s, c)
			if err != nil {
				return err
			}
			return s.withStore(ctx, func(store *timeline.Store) error { return runRun(ctx, s, store, req) })
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

// parseEngine reads engineFlags. The logs of tasks, if they are asked for, go to standard error.
func (s *session) parseEngine(c *urfave.Context) (app.Settings, error) {
	n := c.Int("max-parallel")
	if n < 1 {
		return app.Settings{}, fault.New(fault.Usage, "--max-parallel does not take %d", n).
			Hint("it takes a number from 1 on")
	}
	out := app.Settings{MaxParallel: n, Wait: c.Bool("wait"), Consent: s.consenter(c.Bool("yes"))}
	if c.Bool("logs") {
		out.Logs = s.logsOf
	}
	return out, nil
}

func parseRun(s *session, c *urfave.Context) (app.RunRequest, error) {
	req := app.RunRequest{Workflow: c.Args().First()}
	var err error
	if req.Settings, err = s.parseEngine(c); err != nil {
		return req, err
	}
	if req.RunID, err = newRunID(c); err != nil {
		return req, err
	}
	req.Input, err = s.readInput(c)
	return req, err
}

// runRun creates a run and runs it.
func runRun(ctx context.Context, s *session, store *timeline.Store, req app.RunRequest) error {
	result, err := s.desk(store).Run(ctx, req)
	if result == nil {
		return err
	}
	return s.tellResult(result, err, describeResult("result", result))
}
