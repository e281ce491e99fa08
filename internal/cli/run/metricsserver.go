package run

import (
	"bytes"
	"context"
	"fmt"

	"github.com/git-smithers/git-smithers/internal/app/telemetry"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// metricsServer answers Prometheus while a supervisor runs. git-smithers-desk listens; this process reads the numbers.
type metricsServer struct {
	*numbers

	view    *requests.Desk
	closing chan struct{} // closed before the program is told to end
	over    chan struct{} // closed when nobody answers any more
}

// serveMetrics begins to answer at addr. Codes: usage if nothing can listen there; view_missing if there is no git-smithers-desk.
func serveMetrics(ctx context.Context, n *numbers, addr string) (*metricsServer, error) {
	view, err := requests.StartDesk(n.s, "metrics", addr)
	if err != nil {
		return nil, err
	}
	url, err := view.Read()
	if err != nil {
		return nil, fault.New(fault.Usage, "--metrics %s: %w", addr, err).Hint("name a free address, such as localhost:9464")
	}
	m := &metricsServer{numbers: n, view: view, closing: make(chan struct{}), over: make(chan struct{})}
	n.s.Note("metrics at %s", plain.Text(string(url)))
	go m.answer(ctx)
	return m, nil
}

// answer answers scrapes until the program ends.
func (m *metricsServer) answer(ctx context.Context) {
	defer close(m.over)
	for {
		if _, err := m.view.Read(); err != nil {
			select {
			case <-m.closing:
			default:
				m.s.Warn(fmt.Errorf("nobody answers at the address of --metrics any more: %w", err))
			}
			return
		}
		text, err := m.text(ctx)
		if err != nil {
			m.s.Warn(fmt.Errorf("the metrics cannot be read: %w", err))
			text = nil
		}
		if err := m.view.Write(text); err != nil {
			return
		}
	}
}

// text returns the metrics in Prometheus' text format.
func (m *metricsServer) text(ctx context.Context) ([]byte, error) {
	families, err := m.read(ctx)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = telemetry.WriteMetrics(&out, families)
	return out.Bytes(), err
}

// close ends the program. It does nothing for nil.
func (m *metricsServer) close() {
	if m == nil {
		return
	}
	close(m.closing)
	m.view.Hang()
	<-m.over
}
