package run

import (
	"context"
	"fmt"
	"io"
	"net"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/app/telemetry"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

const (
	// defaultSupervised is how many runs a supervisor executes at once.
	defaultSupervised = 4
	// defaultInterval is the longest time between two searches for runs; a due timer starts a search earlier.
	defaultInterval = 10 * time.Second
	minInterval     = 100 * time.Millisecond // the smallest value of --interval
)

func superviseCommand() *arg.Command {
	return &arg.Command{
		Name:    "supervise",
		Summary: "resume runs that can continue, and run schedules",
		Usage:   []string{"[<run>...] [--once] [--interval D] [--max-runs N] [--max-parallel N] [--metrics ADDR]"},
		About: `Looks repeatedly for runs that no process executes and resumes those that can continue: runs
whose process died or showed no activity for too long, and waiting runs whose decision,
answer, signal or time has come. supervise looks at the named runs, by default at all runs
that were executed in this repository on this machine. Several supervisors share the work:
each run is resumed by one of them.

A run is resumed with the workflow file that it was started with. A run is left alone if its
workflow file is missing or has changed, or if its commands were never run or confirmed in
this clone: resume shows the commands and asks. So is a run that this clone has not recorded,
unless --trust-files names it.

With --metrics, Prometheus can read the numbers that git smithers metrics prints, and how long
this supervisor takes to store entries. Whoever reaches the address can read them. If
OTEL_EXPORTER_OTLP_ENDPOINT names a collector of OpenTelemetry, it gets the same numbers every
minute (OTEL_METRIC_EXPORT_INTERVAL), and the traces that wait for it.

Without named runs, supervise also starts the runs of schedules, see git smithers cron.

When you stop the supervisor, for example with Ctrl-C, it ends the tasks that it runs. Their
runs keep the status running, and the next resume tries the tasks again. With --once,
supervise looks once, and returns when every run that it resumed has ended or waits.`,
		MaxArgs: arg.AnyNumber,
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "once", Usage: "look once, and return when the resumed runs have ended or wait"},
			&urfave.DurationFlag{Name: "interval", Value: defaultInterval, Usage: "look for runs every `D`, such as 30s, and when a timer is due"},
			&urfave.IntFlag{Name: "max-runs", Value: defaultSupervised, Usage: "execute at most `N` runs at once"},
			&urfave.StringFlag{Name: "metrics", Usage: "let Prometheus read the numbers of git smithers metrics at `ADDR`, such as localhost:9464"},
			requests.MaxParallelFlag(), requests.LogsFlag(), requests.TrustFilesFlag(),
		},
		Changes: true,
		Exits:   append(arg.Writes(), fault.ExitTooNew),
		Examples: []arg.Example{
			{"resume the runs of a repository whenever they can continue", "git smithers supervise"},
			{"resume interrupted runs after a power cut", "git smithers supervise --once"},
			{"resume one run as soon as it is approved", "git smithers supervise triage-1"},
		},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			req, err := parseSupervise(s, c)
			if err != nil {
				return err
			}
			return s.WithStore(ctx, func(store *timeline.Store) error { return runSupervise(ctx, s, store, req, c.String("metrics")) })
		},
	}
}

// parseSupervise reads the request from the command line, without the field Report. The error is usage if a number or
// the interval is too small.
func parseSupervise(s *session.Session, c *urfave.Context) (app.SuperviseRequest, error) {
	settings, err := requests.ParseSettings(s, c)
	settings.Consent, settings.AskFiles = nil, nil // a supervisor has no person to ask
	if settings.Logs != nil {
		painter := s.ErrPainter(c.Context)
		settings.Logs, settings.Colour = func(run string) io.Writer { return requests.NamedLogsOf(s, painter, run) }, painter.On()
	}
	req := app.SuperviseRequest{
		Runs: c.Args().Slice(), Once: c.Bool("once"), Interval: c.Duration("interval"), MaxRuns: c.Int("max-runs"), Settings: settings,
	}
	addr := c.String("metrics")
	_, _, noAddr := net.SplitHostPort(addr)
	switch {
	case err != nil:
		return req, err
	case addr != "" && noAddr != nil:
		return req, fault.New(fault.Usage, "--metrics %s is no address with a port", addr).Hint("name a free address, such as localhost:9464")
	case req.Interval < minInterval:
		return req, fault.New(fault.Usage, "--interval cannot be %s", req.Interval).
			Hint("use a duration such as 30s, at least %s", minInterval)
	case req.MaxRuns < 1:
		return req, fault.New(fault.Usage, "--max-runs cannot be %d", req.MaxRuns).
			Hint("use a number from 1")
	}
	return req, nil
}

// runSupervise resumes runs, and prints a report about each run. With --once, it returns after every resumed run has
// ended or waits. Otherwise it continues until ctx ends or an error occurs. Unless addr is "", Prometheus can read metrics there meanwhile; if the
// environment names a collector, it gets them as well.
func runSupervise(ctx context.Context, s *session.Session, store *timeline.Store, req app.SuperviseRequest, addr string) error {
	if sends := telemetry.Wanted(s.Env, telemetry.Metrics); sends || addr != "" {
		n, err := measure(ctx, s, store)
		if err != nil {
			return err
		}
		if addr != "" {
			server, err := serveMetrics(ctx, n, addr)
			if err != nil {
				return err
			}
			defer server.close()
		}
		if sends {
			defer sendMetrics(ctx, n)()
		}
	}
	req.Report = (&supervisionView{s: s, told: make(map[string]string)}).tell
	return requests.Open(s, store).Supervise(ctx, req)
}

// A supervisedDocument is one line of supervise --json: an action of the supervisor on a run.
type supervisedDocument struct {
	Kind   string `json:"kind"`
	Action string `json:"action"` // see app.SupervisorAction
	// Schedule is left out of a report without a schedule. A report about one that has started no run has an empty RunID.
	Schedule string  `json:"schedule,omitempty"`
	RunID    string  `json:"runId"`
	Status   string  `json:"status"`
	Frame    int64   `json:"frame"`
	Code     *string `json:"code"` // the code of the error; null if the report has no error
	Message  *string `json:"message"`
	// Hints have the commands to type after a run has failed.
	Hints []string `json:"hints,omitempty"`
}

// supervisionView prints the reports of a supervisor.
type supervisionView struct {
	s    *session.Session
	told map[string]string // by run id: the last reason printed why the run cannot be resumed
}

// tell prints did, a report of the supervisor. With --json, it prints a document. Otherwise, it prints a line if a run
// was resumed, was stopped or has ended, and warns if a run cannot be resumed. If the last reason that tell printed for
// this run is the same, and the run was not resumed in between, tell prints nothing.
func (v *supervisionView) tell(did app.SupervisorReport) error {
	doc := supervisedDocument{
		Kind: "supervise", Action: string(did.Action), Schedule: did.Schedule, RunID: did.Run, Status: string(did.Status), Frame: did.Frame,
	}
	if did.Failed != nil {
		doc.Hints = v.s.Describe(did.Failed).Hints
	}
	text := ""
	if did.Err != nil {
		e := v.s.Describe(did.Err)
		code := string(e.Code)
		doc.Code, doc.Message = &code, &e.Msg
		text = ": " + e.Msg
	}
	if did.Action == app.RunResumed {
		// If the run cannot be resumed later, print the reason again, even if it is the same.
		delete(v.told, did.Run)
	}
	if did.Action == app.RunLeft {
		if v.told[did.Run] == text {
			return nil
		}
		v.told[did.Run] = text
	}
	if v.s.JSON {
		return v.s.WriteJSON(doc)
	}
	how := string(did.Action)
	switch did.Action {
	case app.RunLeft:
		v.s.Warn(fmt.Errorf("run %s was left alone%s", did.Run, text))
		return nil
	case app.ScheduleLeft:
		v.s.Warn(fmt.Errorf("schedule %s started no run%s", did.Schedule, text))
		return nil
	case app.ScheduleFired:
		how = "started by schedule " + plain.Text(did.Schedule)
	case app.RunEnded:
		how = doc.Status
	case app.RunResumed, app.RunStopped:
	}
	for _, hint := range doc.Hints {
		v.s.Note("  %s", plain.Text(hint))
	}
	return v.s.Printf("%s: %s at frame %d%s\n", plain.Text(did.Run), how, did.Frame, plain.Text(text))
}
