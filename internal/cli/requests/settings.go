package requests

import (
	"io"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// defaultParallel is how many tasks of a run work at once, unless --max-parallel is given.
const defaultParallel = 4

// EngineFlags returns the flags of the commands that run tasks.
func EngineFlags() []urfave.Flag {
	return []urfave.Flag{
		MaxParallelFlag(), LogsFlag(), secretFlag(),
		&urfave.BoolFlag{Name: "no-cache", Usage: "run every task, also those whose result is in the cache"},
		&urfave.BoolFlag{Name: "wait", Usage: "stay while the run waits for people, signals or timers"},
	}
}

// MaxParallelFlag returns the flag --max-parallel.
func MaxParallelFlag() urfave.Flag {
	return &urfave.IntFlag{
		Name: "max-parallel", Aliases: []string{"p"}, Value: defaultParallel,
		Usage: "run at most `N` tasks side by side",
	}
}

// LogsFlag returns the flag --logs.
func LogsFlag() urfave.Flag {
	return &urfave.BoolFlag{Name: "logs", Usage: "show the logs of running tasks"}
}

// ParseSettings returns the settings that EngineFlags, --trust-files and --yes describe. With --logs, the logs of tasks go to standard
// error. With --yes, the user has consented to the workflow's commands. The error is usage if --max-parallel is below
// 1, or if a --secret names no variable.
func ParseSettings(s *session.Session, c *urfave.Context) (app.Settings, error) {
	n := c.Int("max-parallel")
	if n < 1 {
		return app.Settings{}, fault.New(fault.Usage, "--max-parallel cannot be %d", n).
			Hint("use a number from 1")
	}
	out := app.Settings{MaxParallel: n, NoCache: c.Bool("no-cache"), Wait: c.Bool("wait"), Consent: Consenter(s, c.Bool("yes")), FilesTrust: FilesTrust(s, c)}
	if c.Bool("logs") {
		painter := s.ErrPainter(c.Context)
		out.Logs, out.Colour = func(string) io.Writer { return logsOf(s, painter) }, painter.On()
	}
	var err error
	out.Secrets, err = parseSecrets(s, arg.Texts(c, "secret"))
	return out, err
}
