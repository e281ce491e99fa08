package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// setClock is one that a test sets. Every look at it is a millisecond later than the one before.
type setClock struct {
	mu sync.Mutex
	ms int64
}

func (c *setClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ms++
	return time.UnixMilli(c.ms)
}

func (c *setClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ms += d.Milliseconds()
}

// withClock gives a scratch a clock that the test sets.
func (s *scratch) withClock() *setClock {
	c := &setClock{ms: s.opts.Now().UnixMilli()}
	s.opts.Now = c.now
	return c
}

// waits runs what is left and asserts that the run then waits, and as what. It returns
// what the run says.
func (s *scratch) waits(status snapshot.RunStatus) string {
	s.t.Helper()
	result, err := s.run()
	said := fails(s.t, fault.RunWaiting, err)
	require.Equal(s.t, status, result.Run.Status)
	return said
}

// finishes runs what is left and asserts that the run then is finished.
func (s *scratch) finishes() {
	s.t.Helper()
	result, err := s.run()
	require.NoError(s.t, err)
	require.Equal(s.t, snapshot.RunFinished, result.Run.Status)
}

// handIn hands a letter to a run.
func handIn(ctx context.Context, rec mailbox.Recorder, l mailbox.Letter, at time.Time) (mailbox.Receipt, error) {
	return mailbox.NewIntake(rec).Take(ctx, l, at)
}

// sendTo sends a signal to a run. known says that the run had it.
func sendTo(ctx context.Context, rec mailbox.Recorder, signal snapshot.Signal) (sent snapshot.Signal, known bool, err error) {
	l := mailbox.Letter{Verb: mailbox.Send, Signal: signal.Name, CorrelationID: signal.CorrelationID, Value: signal.Payload}
	if signal.ReceivedBy != nil {
		l.By = *signal.ReceivedBy
	}
	got, err := handIn(ctx, rec, l, time.UnixMilli(signal.ReceivedAtMs))
	if err != nil {
		return sent, false, err
	}
	return *got.Signal, got.Known, nil
}

// decide approves or denies.
func (s *scratch) decide(node string, approved bool, note, by string) {
	s.t.Helper()
	l := mailbox.Letter{Verb: mailbox.Deny, Place: mailbox.Place{Node: node}, Note: note, By: by}
	if approved {
		l.Verb = mailbox.Approve
	}
	_, err := handIn(s.t.Context(), s.open(s.t), l, s.opts.Now())
	require.NoError(s.t, err)
}

// answer answers a human request with JSON.
func (s *scratch) answer(node, value string) (snapshot.HumanRequest, error) {
	got, err := handIn(s.t.Context(), s.open(s.t), mailbox.Letter{
		Verb: mailbox.Answer, Place: mailbox.Place{Node: node}, Value: json.RawMessage(value), By: "ben",
	}, s.opts.Now())
	if err != nil {
		return snapshot.HumanRequest{}, err
	}
	return *got.Request, nil
}

// send sends a signal. correlation may be "" for none.
func (s *scratch) send(name, correlation, payload string) snapshot.Signal {
	s.t.Helper()
	signal := snapshot.Signal{Name: name, Payload: json.RawMessage(payload), ReceivedAtMs: s.opts.Now().UnixMilli()}
	if correlation != "" {
		signal.CorrelationID = &correlation
	}
	sent, known, err := sendTo(s.t.Context(), s.open(s.t), signal)
	require.NoError(s.t, err)
	require.False(s.t, known)
	return sent
}

// putSignal appends a signal n whose payload nothing has checked, as imported histories have.
func putSignal(s *scratch, correlation, payload string) {
	s.t.Helper()
	rec := s.open(s.t)
	signal := snapshot.Signal{Name: "n", Payload: json.RawMessage(payload), ReceivedAtMs: s.opts.Now().UnixMilli(), Seq: int64(rec.State().Signals().Len())}
	if correlation != "" {
		signal.CorrelationID = &correlation
	}
	row := snapshot.EncodeSignal(signal)
	require.NoError(s.t, rec.Append(s.t.Context(), snapshot.Draft{
		Mailbox: []snapshot.Change{mailbox.SetRow(snapshot.CollectionSignals, row.Key, row.Value)}, Subject: "signal received",
	}))
}

// approval is an approval at the tip.
func (s *scratch) approval(key string) snapshot.Approval {
	s.t.Helper()
	return mailRow(s, (*snapshot.State).Approvals, key, snapshot.DecodeApproval)
}

// request is a human request at the tip.
func (s *scratch) request(key string) snapshot.HumanRequest {
	s.t.Helper()
	return mailRow(s, (*snapshot.State).HumanRequests, key, snapshot.DecodeHumanRequest)
}

// wait is a wait at the tip.
func (s *scratch) wait(key string) snapshot.Wait {
	s.t.Helper()
	return mailRow(s, (*snapshot.State).Waits, key, snapshot.DecodeWait)
}

func mailRow[T any](s *scratch, of func(*snapshot.State) *page.Collection, key string, decode func(page.Row) (T, error)) T {
	s.t.Helper()
	state, err := s.tip().State()
	require.NoError(s.t, err)
	value, ok, err := of(state).Get(key)
	require.NoError(s.t, err)
	require.True(s.t, ok, key)
	row, err := decode(page.Row{Key: key, Value: value})
	require.NoError(s.t, err)
	return row
}

// payloads are the payloads of all events of a kind, in order.
func (s *scratch) payloads(kind string) []string {
	s.t.Helper()
	var out []string
	for _, e := range s.entries {
		events, err := e.Events()
		require.NoError(s.t, err)
		for _, event := range events {
			if event.Type == kind {
				out = append(out, string(event.Payload))
			}
		}
	}
	return out
}

// beside runs the workflow in another goroutine with Options.Wait, and calls act in this
// one when the run has said subject. It returns how the run ended.
func (s *scratch) beside(subject string, act func()) (engine.Result, error) {
	s.t.Helper()
	said, told := make(chan struct{}), sync.Once{}
	s.opts.Wait = true
	s.opts.Watch = time.Millisecond
	s.opts.Progress = func(p engine.Progress) {
		if strings.Contains(p.Subject, subject) {
			told.Do(func() { close(said) })
		}
	}
	type end struct {
		result engine.Result
		err    error
	}
	ended := make(chan end, 1)
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	rec := s.open(s.t)
	go func() {
		result, err := engine.RunParsed(ctx, rec, s.wf, s.opts)
		ended <- end{result, err}
	}()
	select {
	case <-said:
		act()
	case e := <-ended:
		require.FailNow(s.t, "the run ended before it said "+subject, "%v", e.err)
	}
	e := <-ended
	return e.result, e.err
}
