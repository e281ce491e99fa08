package arg

import (
	"context"
	"os"
	"path/filepath"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// A Target is the run or frame that resume, travel, reset, revert or replay acts on, and the workflow file.
type Target struct {
	Workflow string // the workflow file; "" if the command line names none
	Address  string // a run, or one of its frames
}

// TargetFlags returns the flags --run-id and --frame, which name a run and a frame. They mean the same as an argument
// that is an address, and exist because Smithers has the same flags.
func TargetFlags() []urfave.Flag {
	return []urfave.Flag{RunIDFlag(), &urfave.Int64Flag{Name: "frame", Aliases: []string{"f"}, Usage: "the frame `N` of the run"}}
}

// RunIDFlag returns the flag --run-id of TargetFlags, for a command that acts on runs and not on their frames.
func RunIDFlag() urfave.Flag {
	return &urfave.StringFlag{Name: "run-id", Aliases: []string{"r"}, Usage: "the `RUN`, in place of the argument"}
}

// NodeFlag returns the flag --node for travel and revert, with the other name --node-id, which Smithers uses. usage is
// the text that help shows for the flag.
func NodeFlag(usage string) urfave.Flag {
	return &urfave.StringFlag{Name: "node", Aliases: []string{"n", "node-id"}, Usage: usage}
}

// ParseTarget reads a run or frame, and perhaps a workflow file, from the arguments and TargetFlags:
//   - With --run-id, this flag names the run, and the only argument is the workflow file, if there is one.
//   - A lone argument without --run-id is the run, even if a file has that name.
//   - Of two arguments, the first is the workflow file and the second is the run. The other order is also allowed if
//     only the second has the extension of a workflow file, or neither has and only the second is a file.
//
// The error is usage if the run is missing or named twice, or if a lone argument has the extension of a workflow file.
// The error is workflow_not_found if there is no such workflow file, and invalid_address for a negative frame.
func ParseTarget(s *session.Session, cmd *Command, c *urfave.Context) (Target, error) {
	out := Target{Address: c.String("run-id")}
	args := c.Args().Slice()
	switch {
	case c.IsSet("run-id") && len(args) > 1:
		return out, cmd.Misused("the command has two runs: the argument %q and --run-id %q", args[1], out.Address)
	case c.IsSet("run-id"):
		out.Workflow = c.Args().First()
	case len(args) == 0:
		return out, cmd.NeedsRun()
	case len(args) == 1 && IsWorkflowName(args[0]):
		return out, cmd.Misused("%s %w after the workflow %s", cmd.Path, errNoRun, args[0]).
			Hint("if the run's id looks like the name of a file, use --run-id")
	case len(args) == 1:
		out.Address = args[0]
	case IsWorkflowName(args[1]) && !IsWorkflowName(args[0]), IsFile(s, args[1]) && !meansWorkflow(s, args[0]):
		out.Address, out.Workflow = args[0], args[1]
	default:
		out.Workflow, out.Address = args[0], args[1]
	}
	if out.Workflow != "" && !meansWorkflow(s, out.Workflow) {
		return out, fault.New(fault.WorkflowNotFound, "there is no workflow file %s", out.Workflow).
			Hint("usage: %s", cmd.usageLines()[0]).Detail("file", out.Workflow)
	}
	if frame := c.Int64("frame"); c.IsSet("frame") {
		if frame < 0 {
			return out, fault.New(fault.InvalidAddress, "--frame cannot be %d", frame).Hint("use a number from 0")
		}
		out.Address = timeline.Address{Run: out.Address, Frame: frame}.String()
	}
	return out, nil
}

// meansWorkflow reports whether an argument means a workflow file and not a run. It returns true if a file with the
// given name exists, or if the name has the extension of a workflow file.
func meansWorkflow(s *session.Session, name string) bool {
	return IsWorkflowName(name) || IsFile(s, name)
}

// IsWorkflowName reports whether name has the extension of a workflow file of git smithers or Smithers, such as .yaml
// or .tsx.
func IsWorkflowName(name string) bool {
	switch filepath.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return app.IsScript(name)
}

// IsFile reports whether there is a file, or anything else that is not a folder, with the given name.
func IsFile(s *session.Session, name string) bool {
	info, err := os.Stat(s.Path(name))
	return err == nil && !info.IsDir()
}

// NeedNode returns a usage error if the command line has no --node, but has a flag that needs a node: --iteration,
// --attempt, or one of the names in flags.
func NeedNode(cmd *Command, c *urfave.Context, flags ...string) error {
	if c.String("node") != "" {
		return nil
	}
	for _, flag := range append([]string{"iteration", "attempt"}, flags...) {
		if c.IsSet(flag) {
			return cmd.Misused("--%s needs --node", flag)
		}
	}
	return nil
}

// NamesFrame reports whether address names a frame. It returns false for a run without a frame. The error is that of
// store.Load.
func NamesFrame(ctx context.Context, store *timeline.Store, address string) (bool, error) {
	at, err := store.Load(ctx, address)
	return err == nil && !at.Bare, err
}
