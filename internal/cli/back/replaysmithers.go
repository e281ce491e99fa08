package back

import (
	"context"
	"errors"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// foreignFlags returns the flags of replay for Smithers.
func foreignFlags() []urfave.Flag {
	return []urfave.Flag{
		&urfave.StringFlag{Name: "engine", Usage: "run the fork with `ENGINE`; the only value is smithers"},
		&urfave.StringFlag{Name: "db", Usage: "use the Smithers database `FILE`"},
		&urfave.StringFlag{Name: "engine-command", Usage: "start Smithers with the shell command `COMMAND`"},
	}
}

// parseSmithersReplay returns the request for a replay that Smithers runs, or nil if the command line has no --engine.
// req is the request as parseReplay read it. If --engine-command is not given, the command is the value of the variable
// GIT_SMITHERS_ENGINE_COMMAND.
//
// The error is usage in these cases: --db or --engine-command is given without --engine, --engine has an unknown value,
// the command line names no workflow, or a flag is given that Smithers does not support.
func parseSmithersReplay(s *session.Session, c *urfave.Context, req app.ReplayRequest) (*app.SmithersReplayRequest, error) {
	if !c.IsSet("engine") {
		for _, flag := range []string{"db", "engine-command"} {
			if c.IsSet(flag) {
				return nil, fault.New(fault.Usage, "--%s needs --engine smithers", flag).Hint("add --engine smithers")
			}
		}
		return nil, nil //nolint:nilnil // git smithers runs the replay
	}
	if name := c.String("engine"); name != app.EngineSmithers {
		return nil, fault.New(fault.Usage, "--engine cannot be %q", name).
			Hint("use --engine smithers, or leave out --engine to run a workflow file of git smithers")
	}
	if req.Workflow == "" {
		return nil, fault.New(fault.Usage, "--engine smithers needs a workflow of Smithers").
			Hint("type `%s replay WORKFLOW.tsx %s --engine smithers`", arg.Program, fault.Word(req.From))
	}
	for _, flag := range []string{"max-parallel", "logs", "no-cache", "wait", "set", "unset", "dry-run"} {
		if c.IsSet(flag) {
			return nil, fault.New(fault.Usage, "--%s does not go with --engine smithers", flag).
				Hint("leave out --%s: Smithers does not support it", flag)
		}
	}
	command := c.String("engine-command")
	if command == "" {
		command, _ = s.LookupEnv("GIT_SMITHERS_ENGINE_COMMAND")
	}
	home, _ := s.LookupEnv("HOME")
	return &app.SmithersReplayRequest{
		From: req.From, RunID: req.RunID, Workflow: req.Workflow, Resets: req.Resets, RestoreVCS: req.RestoreVCS, To: req.To,
		Database: c.String("db"), Command: command, Home: home, FilesTrust: req.FilesTrust,
	}, nil
}

// runSmithersReplay forks a frame, makes Smithers run the fork, and prints how the fork ended or why it waits. If there
// is no result, it prints nothing and returns the error.
func runSmithersReplay(ctx context.Context, s *session.Session, store *timeline.Store, req app.SmithersReplayRequest) error {
	done, err := requests.Open(s, store).ReplayWithSmithers(ctx, req)
	if done == nil {
		return err
	}
	return errors.Join(err, requests.PrintResult(s, done.Result, describeReplay(&done.ReplayResult, done.Started)))
}
