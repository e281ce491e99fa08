package cli

import (
	"context"
	"os"
	"path/filepath"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/app"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// A target is what travel, reset, revert and replay are about.
type target struct {
	workflow string // the workflow file; "" if the command line names none
	address  string // a run, or one of its frames
}

// targetFlags are the flags by which Smithers names a run and a frame. An address in place of them means the same.
func targetFlags() []urfave.Flag {
	return []urfave.Flag{
		&urfave.StringFlag{Name: "run-id", Aliases: []string{"r"}, Usage: "the `RUN`, in place of the argument"},
		&urfave.Int64Flag{Name: "frame", Aliases: []string{"f"}, Usage: "the frame `N` of the run"},
	}
}

// nodeFlag is --node of travel and revert, and what Smithers calls it.
func nodeFlag(usage string) urfave.Flag {
	return &urfave.StringFlag{Name: "node", Aliases: []string{"n", "node-id"}, Usage: usage}
}

// parseTarget reads the arguments and targetFlags: the run or frame is an argument or --run-id, and the workflow file the
// other argument. Without --run-id, a lone argument is the run, even if a file has that name.
func parseTarget(s *session, cmd *command, c *urfave.Context) (target, error) {
	out := target{address: c.String("run-id")}
	args := c.Args().Slice()
	switch {
	case c.IsSet("run-id") && len(args) > 1:
		return out, cmd.misused("two runs are named: %q, and %q by --run-id", args[1], out.address)
	case c.IsSet("run-id"):
		out.workflow = c.Args().First()
	case len(args) == 0:
		return out, cmd.misused("%s needs a run", cmd.path)
	case len(args) == 1 && isWorkflowName(args[0]):
		return out, cmd.misused("%s needs a run besides the workflow %s", cmd.path, args[0]).
			Hint("--run-id names a run whose id looks like a file")
	case len(args) == 1:
		out.address = args[0]
	case !s.meansWorkflow(args[0]) && isWorkflowName(args[1]): // as resume has it
		out.address, out.workflow = args[0], args[1]
	default:
		out.workflow, out.address = args[0], args[1]
	}
	if out.workflow != "" && !s.meansWorkflow(out.workflow) {
		return out, fault.New(fault.WorkflowNotFound, "there is no workflow file %s", out.workflow).
			Hint("usage: %s", cmd.usageLines()[0]).Detail("file", out.workflow)
	}
	if frame := c.Int64("frame"); c.IsSet("frame") {
		if frame < 0 {
			return out, fault.New(fault.InvalidAddress, "--frame does not take %d", frame).Hint("frames are numbered from 0")
		}
		out.address = timeline.Address{Run: out.address, Frame: frame}.String()
	}
	return out, nil
}

// meansWorkflow reports whether an argument that may be a workflow file or a run is the file: a file has that name, or the
// name ends as those of workflows do.
func (s *session) meansWorkflow(name string) bool { return isWorkflowName(name) || s.isFile(name) }

// isWorkflowName reports whether a name ends as those of workflow files do, ours and Smithers'.
func isWorkflowName(name string) bool {
	switch filepath.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return app.IsScript(name)
}

// isFile reports whether something that is not a folder has this name.
func (s *session) isFile(name string) bool {
	info, err := os.Stat(s.path(name))
	return err == nil && !info.IsDir()
}

// needNode refuses flags that tell which attempt of a node is meant if no node is named.
func needNode(cmd *command, c *urfave.Context, flags ...string) error {
	if c.String("node") != "" {
		return nil
	}
	for _, flag := range append([]string{"iteration", "attempt"}, flags...) {
		if c.IsSet(flag) {
			return cmd.misused("--%s goes with --node", flag)
		}
	}
	return nil
}

// namesFrame reports whether an address is that of a frame, and not that of a run.
func namesFrame(ctx context.Context, store *timeline.Store, address string) (bool, error) {
	at, err := store.Load(ctx, address)
	return err == nil && !meansRun(at.Address, address), err
}
