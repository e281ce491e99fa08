package files

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/git-smithers/git-smithers/internal/outfit"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Equipment says how to equip a new working copy.
type Equipment struct {
	Setup    string                // the workflow's own setup command, to which the user agreed; "" means the user's own
	Confined bool                  // the commands that will run there must be in sandboxes: the working copy gets nothing
	Update   func(done, total int) // gets the number of ignored files that were brought, and of all
	Began    func()                // is called when the setup command begins
}

// Equipped says what Equip has done. As JSON, it is members of another document.
type Equipped struct {
	Root string `json:"-"` // the working copy; "" if there was nothing to do
	outfit.Brought
	Setup string `json:"setup,omitempty"` // the setup command that has run; "" for none
}

// Equip brings ignored files into a working copy that Checkout, OpenWorktree or OpenFirstWorktree has made, and runs the setup command in it: once for each
// working copy, and again after an error or if the process was killed. The files of a run from elsewhere get nothing, unless the user trusts them. What
// cannot be brought is a warning. Code: setup_failed.
func (c *WorkingCopy) Equip(ctx context.Context, e Equipment) (out Equipped, err error) {
	if c.unready == nil {
		return out, nil
	}
	origin := c.store.Workspace()
	line, ignored, err := c.store.Repo().OwnCommand(ctx, outfit.Setting, c.store.Env())
	if err != nil {
		return out, timeline.Explain(err)
	}
	if line = cmp.Or(e.Setup, line); ignored && e.Setup == "" {
		c.store.WarnOnce(fmt.Errorf("%s in the configuration of this repository is ignored: only your own configuration may name a command. "+
			"`git config --global smithers.worktree.setup COMMAND` sets one", outfit.Setting))
	}
	out.Root = c.Root()
	if e.Confined || c.stranger != "" {
		if _, err := os.Lstat(filepath.Join(origin.Root, outfit.IncludeFile)); err == nil || line != "" {
			c.warnOfNothing()
		}
		return out, c.equipped()
	}
	if out.Brought, err = outfit.Bring(ctx, origin, c.workspace, e.Update); err != nil && ctx.Err() == nil {
		c.store.Warn(fmt.Errorf("ignored files were not brought into %s: %w", c.Root(), err))
	}
	if len(out.Skipped) > 0 {
		c.store.Warn(fmt.Errorf("not brought into %s, because git does not ignore it there, the frame has something in its place, or it is a link back: %s",
			c.Root(), someOf(out.Skipped)))
	}
	if line != "" && ctx.Err() == nil {
		e.Began()
		setup := outfit.Setup{Line: line, Dir: c.Root(), Origin: origin.Root, Log: c.unready.log(c.store)}
		if err := setup.Run(ctx, c.store.Env()); err != nil && ctx.Err() == nil {
			return out, c.setupFailed(setup, err)
		}
		out.Setup = line
	}
	if ctx.Err() != nil {
		return out, timeline.Explain(context.Cause(ctx))
	}
	return out, c.equipped()
}

// equipped notes that the working copy is equipped.
func (c *WorkingCopy) equipped() error {
	made := *c.unready
	made.Unready, c.unready = false, nil
	if made.scratch != "" {
		return nil
	}
	return timeline.Explain(putMade(c.store, made))
}

// warnOfNothing warns that the working copy gets neither ignored files nor a setup command.
func (c *WorkingCopy) warnOfNothing() {
	why := "smithers.sandbox is required, and a setup command has no sandbox"
	if c.stranger != "" {
		why = fmt.Sprintf("run %s was not recorded in this clone; --trust-files %s does both", plain.Text(c.stranger), fault.Word(plain.Text(c.stranger)))
	}
	c.store.Warn(fmt.Errorf("no ignored file was brought into %s, and no setup command was run there: %s", c.Root(), why))
}

// setupFailed returns the error of a setup command that has failed because of err.
func (c *WorkingCopy) setupFailed(setup outfit.Setup, err error) error {
	out := fault.New(fault.SetupFailed, "the setup command failed in %s: %w", c.Root(), err)
	for _, said := range setup.Tail() {
		out = out.Hint("it said: %s", said)
	}
	switch {
	case c.unready.scratch != "":
		out = out.Hint("the scratch worktree is gone; %s in your own configuration names the command", outfit.Setting)
	case c.unready.Checkout:
		command := fault.CommandLine("SMITHERS_ORIGIN="+fault.Word(setup.Origin)+" sh", "-e", "-c", setup.Line)
		out = out.Hint("the working copy has its files; to run the command again: `%s && %s`", fault.CommandLine("cd", c.Root()), command)
	default:
		out = out.Hint("`%s` runs it again", fault.CommandLine(fault.Program, "resume", c.unready.Run))
	}
	return out.Detail("path", c.Root()).Detail("command", setup.Line).Detail("log", setup.Log)
}
