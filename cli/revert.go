package cli

import (
	"context"
	"sync"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// revertDocument is what revert prints with --json.
type revertDocument struct {
	Kind      string `json:"kind"`
	NodeID    string `json:"nodeId"`
	Iteration int    `json:"iteration"`
	Attempt   int    `json:"attempt"`
	restoredDocument
}

func revertCommand() *command {
	return &command{
		name:    "revert",
		summary: "put the files back to what they were after an attempt",
		usage:   []string{"[<workflow>] --run-id R --node-id N [--attempt A] [--iteration I] [--dry-run] [--yes]"},
		about: `Makes the working copy exactly what it was when the attempt of a task ended, as
restore does for a frame: what is there now is captured first, at a terminal one is asked
before untracked files are removed, files that were never captured stay, and where one is
in the way, nothing is done. The state of the run does
not change; the run records the revert as a frame. A workflow file in front is
accepted, as other tools give one, and is not read. Where the task, or the whole run,
has a worktree of its own, its files are put back there.

Tasks that run side by side share their files: what the others had done by then is
part of it, and they are named. Prints what changed: add, modify or remove, and the
path.`,
		maxArgs:  1,
		required: []string{"run-id", "node-id"},
		flags: []urfave.Flag{
			&urfave.StringFlag{Name: "run-id", Aliases: []string{"r"}, Usage: "the id of the `RUN` (required)"},
			&urfave.StringFlag{Name: "node-id", Aliases: []string{"n", "node"}, Usage: "the task `ID` (required)"},
			&urfave.IntFlag{Name: "attempt", Aliases: []string{"a"}, Usage: "the attempt `A`, from 1; without it, the newest"},
			&urfave.IntFlag{Name: "iteration", Usage: "the iteration `I` of a task in a loop, from 0; without it, 0"},
			&urfave.BoolFlag{Name: "dry-run", Usage: "say what would change, and change nothing"},
			removalFlag(),
		},
		changes: true,
		exits:   writes(),
		examples: []example{
			{"go back to the files that the task plan left", "git smithers revert --run-id triage-1 --node-id plan"},
			{"see what the second attempt's files would change", "git smithers revert -r triage-1 -n fix --attempt 2 --dry-run"},
		},
		run: func(ctx context.Context, s *session, c *urfave.Context) error {
			req, err := parseRevert(c)
			if err != nil {
				return err
			}
			return s.withStore(ctx, func(store *timeline.Store) error { return runRevert(ctx, s, store, req, c.Bool("yes")) })
		},
	}
}

func parseRevert(c *urfave.Context) (timeline.RevertRequest, error) {
	req := timeline.RevertRequest{
		Run: c.String("run-id"), Node: c.String("node-id"), Iteration: c.Int("iteration"), Attempt: c.Int("attempt"),
		DryRun: c.Bool("dry-run"),
	}
	if c.IsSet("attempt") && req.Attempt < 1 {
		return req, fault.New(fault.Usage, "--attempt does not take %d", req.Attempt).Hint("attempts are counted from 1")
	}
	if req.Iteration < 0 {
		return req, fault.New(fault.Usage, "--iteration does not take %d", req.Iteration).Hint("iterations are counted from 0")
	}
	return req, nil
}

// runRevert restores the files that an attempt left.
func runRevert(ctx context.Context, s *session, store *timeline.Store, req timeline.RevertRequest, yes bool) error {
	over := sync.OnceFunc(s.while("restoring the files"))
	req.Confirm = s.confirmRemoval(yes, over, yesRemoves)
	done, err := store.Revert(ctx, req)
	over()
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // it is done, and that is told
	if s.json {
		return s.writeJSON(revertDocument{"revert", req.Node, req.Iteration, done.Attempt, describeRestored(done, req.DryRun)})
	}
	return s.tellRestored(ctx, store, done, req.DryRun)
}
