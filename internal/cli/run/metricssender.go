package run

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/git-smithers/git-smithers/internal/app/telemetry"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/gitexec"
)

// usualExportInterval is the time between two exports, as OpenTelemetry's specification has it.
const usualExportInterval = time.Minute

// lastExport is how long the end waits for a collector. Who has typed Ctrl-C waits for it.
const lastExport = 5 * time.Second

// metricsSender sends metrics to a collector of OpenTelemetry, through git-smithers-desk.
type metricsSender struct {
	*numbers

	view  *requests.Desk // nil before the first export, and after one that failed
	wrong string         // why the last export failed; "" if it did not
}

// sendMetrics begins to send metrics. The function that it returns sends them a last time, and ends. What fails is a warning, once until something else
// happens: a supervisor does not need a collector.
func sendMetrics(ctx context.Context, n *numbers) (end func()) {
	m := &metricsSender{numbers: n}
	ending, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		ticker := time.NewTicker(exportInterval(n.s.Env))
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				m.send(ctx)
			case <-ending:
				m.send(context.WithoutCancel(ctx))
				if m.view != nil {
					_ = m.view.Close() // what it said was read
				}
				return
			}
		}
	}()
	return func() {
		close(ending)
		select {
		case <-over:
		case <-time.After(lastExport):
			m.s.Warn(fmt.Errorf("the last metrics were not sent: the collector does not answer within %v", lastExport))
		}
	}
}

// exportInterval returns the time between two exports that an environment wants.
func exportInterval(env []string) time.Duration {
	value, _ := gitexec.LookupEnv(env, "OTEL_METRIC_EXPORT_INTERVAL")
	if ms, err := strconv.Atoi(value); err == nil && ms > 0 {
		return time.Duration(ms) * time.Millisecond
	}
	return usualExportInterval
}

// send sends the metrics as they are now.
func (m *metricsSender) send(ctx context.Context) {
	err := m.post(ctx)
	if err == nil {
		m.wrong = ""
		return
	}
	if m.view != nil {
		err = errors.Join(err, m.view.Close())
		m.view = nil
	}
	// Ctrl-C also ends a git that reads for an export, perhaps before it ends ctx. The last export follows.
	var git *gitexec.Error
	if ctx.Err() != nil || errors.As(err, &git) && git.Stopped() {
		return
	}
	if m.wrong != err.Error() {
		m.wrong = err.Error()
		m.s.Warn(fmt.Errorf("the metrics were not sent: %w", err))
	}
}

// post sends the metrics as they are now.
func (m *metricsSender) post(ctx context.Context) error {
	families, err := m.read(ctx)
	if err != nil {
		return err
	}
	body, err := telemetry.EncodeMetrics(families, m.s.Env, m.s.Now())
	if err != nil {
		return err
	}
	if m.view == nil {
		if m.view, err = requests.StartDesk(m.s, "send", string(telemetry.Metrics)); err != nil {
			m.view = nil
			return err
		}
	}
	return m.view.Post(body)
}
