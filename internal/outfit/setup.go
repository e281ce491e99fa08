package outfit

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/procgroup"
)

// Setting is the name of the setting with the user's own setup command.
const Setting = "smithers.worktree.setup"

const (
	grace    = 5 * time.Second // between SIGTERM and SIGKILL
	maxTail  = 64 << 10        // bytes of the output that Tail reads
	tailEnds = 10              // lines
)

// Setup is a command that sets a new working copy up.
type Setup struct {
	Line   string // for sh -e
	Dir    string // the working copy, in which the command runs
	Origin string // the working copy from which it was made: SMITHERS_ORIGIN; "" for none
	Log    string // the file that gets the output, in place of what it has
}

// Run runs the command under env without input, in a process group of its own. When ctx ends, Run ends the group.
func (s Setup) Run(ctx context.Context, env []string) error {
	log, err := os.OpenFile(s.Log, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()                                         //nolint:errcheck // this process has not written to it
	cmd := exec.CommandContext(ctx, "sh", "-e", "-c", s.Line) //nolint:gosec // the user's own setting, or confirmed with the workflow
	cmd.Dir, cmd.Env = s.Dir, append(gitexec.WithoutRepository(env), "SMITHERS_ORIGIN="+s.Origin)
	cmd.Stdout, cmd.Stderr = log, log
	procgroup.Detach(cmd)
	cmd.Cancel = func() error {
		group, err := procgroup.Of(cmd.Process.Pid)
		if err == nil {
			_, err = group.End(context.WithoutCancel(ctx), nil, grace)
		}
		if err != nil {
			return cmd.Process.Kill()
		}
		return nil
	}
	return cmd.Run()
}

// Tail returns the last lines of the output.
func (s Setup) Tail() []string {
	data, _ := os.ReadFile(s.Log) // what can be read helps
	text := string(data[max(0, len(data)-maxTail):])
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
	return lines[max(0, len(lines)-tailEnds):]
}
