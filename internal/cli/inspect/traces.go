package inspect

import (
	"context"
	"errors"
	"fmt"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/app/telemetry"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// tracesOptions has the options of traces.
type tracesOptions struct {
	runs []string // whole ids, or their beginnings
	send bool
}

func tracesCommand() *arg.Command {
	return &arg.Command{
		Name:    "traces",
		Summary: "print runs as OpenTelemetry traces, or send them to a collector",
		Usage:   []string{"<run>...", "[<run>...] --send"},
		About: `Prints the traces of runs: the run, its attempts and their tool calls are spans. Each line is
an ExportTraceServiceRequest in OTLP's JSON encoding, which collectors take at /v1/traces.

If OTEL_EXPORTER_OTLP_ENDPOINT names a collector, the trace of every run is sent when the run
has ended, by a process of its own: no run waits for it. A session of a coding agent ends when
its agent says so. A trace that the collector does not
take is sent again when the next run ends, by supervise, or by traces --send, which without
runs sends all traces that wait. The variables OTEL_EXPORTER_OTLP_HEADERS, OTEL_EXPORTER_OTLP_TIMEOUT,
OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES are read, too.

A run that is started with TRACEPARENT in the environment is part of that trace, and each
command of a run with a trace gets the span of its attempt as TRACEPARENT.`,
		MaxArgs: arg.AnyNumber,
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "send", Usage: "send the traces to the collector of OTEL_EXPORTER_OTLP_ENDPOINT"},
		},
		Exits: append(arg.Reads(), fault.ExitTooNew),
		Examples: []arg.Example{
			{"read the trace of a run", "git smithers traces triage-1"},
			{"send what a collector has missed", "OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318 git smithers traces --send"},
		},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			opts := tracesOptions{runs: c.Args().Slice(), send: c.Bool("send")}
			switch {
			case opts.send && !telemetry.Wanted(s.Env, telemetry.Traces):
				return fault.New(fault.Usage, "traces --send needs a collector").Hint("set OTEL_EXPORTER_OTLP_ENDPOINT, such as http://localhost:4318")
			case !opts.send && len(opts.runs) == 0:
				return fault.New(fault.Usage, "traces needs a run").Hint("`git smithers runs` lists the runs, `git smithers traces --send` sends the traces that wait")
			}
			return s.WithStore(ctx, func(store *timeline.Store) error {
				if opts.send {
					return sendTraces(ctx, s, store, opts.runs)
				}
				return printTraces(ctx, s, store, opts.runs)
			})
		},
	}
}

// printTraces prints the requests for the traces of runs, one a line.
func printTraces(ctx context.Context, s *session.Session, store *timeline.Store, runs []string) error {
	for _, run := range runs {
		id, err := store.ResolveRun(ctx, run)
		if err != nil {
			return err
		}
		head, err := store.Head(ctx, id)
		if err != nil {
			return err
		}
		requests, err := tracesOf(s, store, head)
		if err != nil {
			return err
		}
		for _, r := range requests {
			if err := s.WriteJSON(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// tracesOf returns the requests for the trace of a run, without secrets.
func tracesOf(s *session.Session, store *timeline.Store, head *timeline.Head) ([]telemetry.TraceRequest, error) {
	hide, err := app.SecretHider(store, head.Row().Secrets)
	if err != nil {
		return nil, err
	}
	return telemetry.TracesOf(head, s.Env, hide)
}

// sendTraces sends the traces of runs, or those that wait. It goes on after a trace that was not sent, and then returns an error.
func sendTraces(ctx context.Context, s *session.Session, store *timeline.Store, runs []string) error {
	waiting, err := toSend(ctx, store, runs)
	if err != nil || len(waiting) == 0 {
		return err
	}
	view, err := requests.StartDesk(s, "send", string(telemetry.Traces))
	if err != nil {
		return err
	}
	failed := 0
	for _, w := range waiting {
		why := sendTrace(ctx, s, store, view, w)
		if err := toldTrace(s, w.Run, why); err != nil {
			return errors.Join(err, view.Close())
		}
		if why != nil {
			failed++
		}
	}
	err = view.Close()
	if failed > 0 {
		return fault.New(fault.RemoteFailed, "%s not sent", plain.Count(failed, "trace")+map[bool]string{true: " was", false: " were"}[failed == 1]).
			Hint("`git smithers traces --send` sends what waits again")
	}
	return err
}

// toSend returns the named runs, or the runs whose traces wait.
func toSend(ctx context.Context, store *timeline.Store, runs []string) ([]telemetry.WaitingTrace, error) {
	if len(runs) == 0 {
		return telemetry.QueuedTraces(store)
	}
	var out []telemetry.WaitingTrace
	for _, run := range runs {
		id, err := store.ResolveRun(ctx, run)
		if err != nil {
			return nil, err
		}
		out = append(out, telemetry.WaitingTrace{Run: id})
	}
	return out, nil
}

// sendTrace sends the trace of a run. A run that is gone has none.
func sendTrace(ctx context.Context, s *session.Session, store *timeline.Store, view *requests.Desk, w telemetry.WaitingTrace) error {
	head, err := store.Head(ctx, w.Run)
	if fault.CodeOf(err) == fault.RunNotFound || fault.CodeOf(err) == fault.RunPruned {
		return w.Done(store)
	}
	if err != nil {
		return err
	}
	if w.Tip == "" { // it was named, and may wait as well
		w.Tip = head.Entry().ID.String()
	}
	requests, err := tracesOf(s, store, head)
	if err != nil {
		return err
	}
	for _, r := range requests {
		body, err := r.Encode()
		if err != nil {
			return err
		}
		if err := view.Post(body); err != nil {
			return err
		}
	}
	return w.Done(store)
}

// toldTrace prints what became of the trace of a run. why is the reason why it was not sent, or nil.
func toldTrace(s *session.Session, run string, why error) error {
	if s.JSON {
		var reason *string
		if why != nil {
			reason = new(why.Error())
		}
		return s.WriteJSON(term.Document("trace", term.Member("runId", run), term.Member("sent", why == nil), term.Member("error", reason)))
	}
	if why != nil {
		s.Warn(fmt.Errorf("the trace of run %s was not sent: %w", plain.Text(run), why))
		return nil
	}
	return s.Printf("%s\n", plain.Text(run))
}
