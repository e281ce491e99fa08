package engine_test

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

const pinged = `
name: w
outputs: {ping: {}}
tasks:
  - {id: wait, output: ping, wait_for: ping}
  - {id: after, needs: [wait], run: 'cat > after'}
`

func TestASignalEndsTheWaitForIt(t *testing.T) {
	t.Parallel()
	s := newScratch(t, pinged, "")
	s.waits(snapshot.RunWaitingEvent)
	assert.Equal(t, []string{"wait waits for signal ping", "run waits for a signal (wait)"}, s.subjects())
	assert.Equal(t, []string{`{"runId":"r","nodeId":"wait","iteration":0,"attempt":1,"eventName":"ping","correlationId":null}`}, s.payloads("NodeWaitingEvent"))
	s.send("pong", "", `1`)
	s.waits(snapshot.RunWaitingEvent)
	sent := s.send("ping", "c-1", ` {"n": 9007199254740993} `)
	assert.Equal(t, int64(1), sent.Seq)
	assert.Equal(t, []string{
		`{"runId":"r","signalSeq":0,"signalName":"pong","correlationId":null}`,
		`{"runId":"r","signalSeq":1,"signalName":"ping","correlationId":"c-1"}`,
	}, s.payloads("SignalReceived"))
	s.finishes()
	assert.Equal(t, map[string]string{"wait::0": `{"n": 9007199254740993}`}, s.outputs("ping"), "byte for byte")
	assert.Contains(t, s.subjects(), "wait received signal ping")
	w := s.wait("wait::0")
	assert.Equal(t, snapshot.WaitReceived, w.Status)
	assert.Equal(t, int64(1), *w.SignalSeq)
	assert.Contains(t, s.read("after"), `"n":9007199254740993`)
}

func TestASignalThatCameBeforeTheWaitCounts(t *testing.T) {
	t.Parallel()
	s := newScratch(t, pinged, "")
	s.send("ping", "", `"early"`)
	s.finishes()
	assert.Equal(t, map[string]string{"wait::0": `"early"`}, s.outputs("ping"))
}

func TestASignalMayComeWhileTheEngineRuns(t *testing.T) {
	t.Parallel()
	s := newScratch(t, pinged, "")
	_, err := s.beside("wait waits", func() { s.send("ping", "", `{}`) })
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"wait::0": `{}`}, s.outputs("ping"))
}

func TestAnIdenticalSignalIsOne(t *testing.T) {
	t.Parallel()
	s := newScratch(t, pinged, "")
	signal := snapshot.Signal{Name: "ping", Payload: json.RawMessage(`{"a": 1}`), ReceivedAtMs: 5, ReceivedBy: new("ci")}
	first, known, err := sendTo(t.Context(), s.open(t), signal)
	require.NoError(t, err)
	assert.False(t, known)
	entries := len(s.entries)
	signal.Payload = json.RawMessage("\n" + `{"a": 1}` + "\t")
	again, known, err := sendTo(t.Context(), s.open(t), signal)
	require.NoError(t, err)
	assert.True(t, known)
	assert.Equal(t, first, again)
	assert.Len(t, s.entries, entries, "nothing was written")
	for name, change := range map[string]func(*snapshot.Signal){
		"name":        func(s *snapshot.Signal) { s.Name = "pong" },
		"correlation": func(s *snapshot.Signal) { s.CorrelationID = new("") },
		"payload":     func(s *snapshot.Signal) { s.Payload = json.RawMessage(`{"a":1}`) },
		"time":        func(s *snapshot.Signal) { s.ReceivedAtMs++ },
		"sender":      func(s *snapshot.Signal) { s.ReceivedBy = nil },
	} {
		other := signal
		change(&other)
		_, known, err := sendTo(t.Context(), s.open(t), other)
		require.NoError(t, err)
		assert.False(t, known, name)
	}
}

func TestIterationsTakeTheSignalsInTheirOrder(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `
name: w
outputs: {item: {}}
tasks:
  - loop: l
    until: outputs.item == "stop"
    max: 20
    tasks: [{id: next, output: item, wait_for: item}]
`, "")
	s.send("item", "", `"a"`)
	s.send("other", "", `"x"`)
	s.send("item", "c", `"b"`)
	s.waits(snapshot.RunWaitingEvent)
	assert.Equal(t, map[string]string{"next::0": `"a"`, "next::1": `"b"`}, s.outputs("item"))
	for i := range 9 {
		s.send("item", "", strconv.Itoa(i))
	}
	s.waits(snapshot.RunWaitingEvent)
	s.send("item", "", `"stop"`)
	s.finishes()
	assert.Equal(t, map[string]string{
		"next::0": `"a"`, "next::1": `"b"`, "next::2": `0`, "next::3": `1`, "next::4": `2`, "next::5": `3`, "next::6": `4`,
		"next::7": `5`, "next::8": `6`, "next::9": `7`, "next::10": `8`, "next::11": `"stop"`,
	}, s.outputs("item"))
}

func TestTwoTasksMayTakeTheSameSignal(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `{name: w, outputs: {o: {}}, tasks: [{id: a, output: o, wait_for: ping}, {id: b, output: o, wait_for: ping}]}`, "")
	s.send("ping", "", `1`)
	s.finishes()
	assert.Equal(t, map[string]string{"a::0": "1", "b::0": "1"}, s.outputs("o"))
}

func TestCorrelationSaysWhichSignalsCount(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ wait, got string }{
		"any":           {`{signal: ping}`, `"none"`},
		"none":          {`{signal: ping, correlation: null}`, `"none"`},
		"equal":         {`{signal: ping, correlation: "{input.ticket}"}`, `"T-12"`},
		"equal, filled": {`{signal: ping, correlation: "pr-{input.number}"}`, `"pr-7"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScratch(t, `{name: w, outputs: {o: {}}, tasks: [{id: a, output: o, wait_for: `+c.wait+`}]}`, `{"ticket":"T-12","number":7}`)
			if name == "none" {
				s.send("ping", "T-12", `"T-12"`)
				s.waits(snapshot.RunWaitingEvent)
			}
			s.send("ping", "", `"none"`)
			s.send("ping", "T-13", `"T-13"`)
			s.send("ping", "T-12", `"T-12"`)
			s.send("ping", "pr-7", `"pr-7"`)
			s.finishes()
			assert.Equal(t, map[string]string{"a::0": c.got}, s.outputs("o"))
		})
	}
}

func TestIterationsMayWaitForACorrelationOfTheirOwn(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `
name: w
outputs: {o: {}}
tasks: [{loop: l, until: iteration == 2, max: 3, tasks: [{id: a, output: o, wait_for: {signal: ping, correlation: "{iteration}"}}]}]
`, "")
	for _, c := range []string{"2", "1", "0"} { // the newest is wanted first
		s.send("ping", c, c)
	}
	s.finishes()
	assert.Equal(t, map[string]string{"a::0": "0", "a::1": "1", "a::2": "2"}, s.outputs("o"))
}

func TestARetryTakesTheNextSignal(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `{name: w, outputs: {n: {type: integer}}, tasks: [{id: a, retries: 2, output: n, wait_for: n}]}`, "")
	putSignal(s, "", `"one"`)
	s.waits(snapshot.RunWaitingEvent)
	assert.Equal(t, `invalid_output: n: type: one has type "string", want "integer"`, s.attempts()["a::0::1"].Error)
	s.waits(snapshot.RunWaitingEvent)
	putSignal(s, "", `"two"`)
	s.send("n", "", `3`)
	s.finishes()
	assert.Equal(t, map[string]string{"a::0": "3"}, s.outputs("n"))
	assert.Len(t, s.attempts(), 3)
}

func TestARetryTakesTheNextSignalOfItsCorrelation(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `{name: w, outputs: {n: {type: integer}}, tasks: [{id: a, retries: 1, output: n, wait_for: {signal: n, correlation: c}}]}`, "")
	putSignal(s, "c", `"one"`)
	s.send("n", "d", `2`)
	s.send("n", "c", `3`)
	s.finishes()
	assert.Equal(t, map[string]string{"a::0": "3"}, s.outputs("n"))
}

func TestAnAttemptThatWaitsForAnotherCorrelationLooksAtAllItsSignals(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `{name: w, outputs: {n: {type: integer}}, tasks: [{id: a, output: n, wait_for: {signal: n, correlation: "{input.c}"}}]}`, `{"c":"c"}`)
	s.send("n", "d", `1`)
	putSignal(s, "c", `"two"`)
	_, err := s.run()
	fails(t, fault.RunFailed, err)
	s.opts.Input = json.RawMessage(`{"c":"d"}`)
	s.finishes()
	assert.Equal(t, map[string]string{"a::0": "1"}, s.outputs("n"))
}

func TestOnTimeoutSaysWhatNoSignalMeans(t *testing.T) {
	t.Parallel()
	late := func(t *testing.T, file string) (*scratch, error) {
		t.Helper()
		s := newScratch(t, file, "")
		clock := s.withClock()
		s.waits(snapshot.RunWaitingEvent)
		clock.advance(59 * time.Minute)
		s.waits(snapshot.RunWaitingEvent)
		clock.advance(time.Minute)
		s.send("ping", "", `"too late"`)
		_, err := s.run()
		return s, err
	}
	file := func(schema, on string) string {
		return `{name: w, outputs: {o: ` + schema + `}, tasks: [{id: a, output: o, wait_for: {signal: ping, timeout: 1h` + on + `}}]}`
	}
	t.Run("fail", func(t *testing.T) {
		t.Parallel()
		s, err := late(t, file("{}", ""))
		assert.Equal(t, "run r failed: a: no signal ping within 1h0m0s", fails(t, fault.RunFailed, err))
		assert.Equal(t, "timeout: no signal ping within 1h0m0s", s.attempts()["a::0::1"].Error)
		assert.Equal(t, snapshot.WaitExpired, s.wait("a::0").Status)
	})
	t.Run("continue", func(t *testing.T) {
		t.Parallel()
		s, err := late(t, file("{}", ", on_timeout: continue"))
		require.NoError(t, err)
		assert.Equal(t, map[string]string{"a::0": "null"}, s.outputs("o"))
		assert.Contains(t, s.subjects(), "a timed out")
	})
	t.Run("continue where null does not fit", func(t *testing.T) {
		t.Parallel()
		s, err := late(t, file("{type: string}", ", on_timeout: continue"))
		fails(t, fault.RunFailed, err)
		assert.Contains(t, s.attempts()["a::0::1"].Error, "invalid_output: o: ")
	})
	t.Run("skip", func(t *testing.T) {
		t.Parallel()
		s, err := late(t, file("{}", ", on_timeout: skip"))
		require.NoError(t, err)
		assert.Equal(t, snapshot.NodeSkipped, s.states()["a::0"])
		assert.Empty(t, s.outputs("o"))
	})
}

func TestASignalThatCameInTimeCountsHoweverLateTheEngineLooks(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `{name: w, outputs: {o: {}}, tasks: [{id: a, output: o, wait_for: {signal: ping, timeout: 1h}}]}`, "")
	clock := s.withClock()
	s.waits(snapshot.RunWaitingEvent)
	rec := s.open(t) // knows nothing of the signal
	s.send("ping", "", `"in time"`)
	clock.advance(2 * time.Hour)
	_, err := engine.RunParsed(t.Context(), rec, s.wf, s.opts)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"a::0": `"in time"`}, s.outputs("o"))
}

func TestManySendersNumberTheirSignalsWithoutGaps(t *testing.T) {
	t.Parallel()
	s := newScratch(t, pinged, "")
	const senders, each = 8, 25
	var group sync.WaitGroup
	for sender := range senders {
		rec := s.open(t)
		group.Go(func() {
			for i := range each {
				_, _, err := sendTo(t.Context(), rec, snapshot.Signal{
					Name: "ping", Payload: json.RawMessage(strconv.Itoa(i)), ReceivedAtMs: 1, ReceivedBy: new(strconv.Itoa(sender)),
				})
				assert.NoError(t, err)
			}
		})
	}
	group.Wait()
	state, err := s.tip().State()
	require.NoError(t, err)
	seqs := make(map[int64]bool)
	for signal, err := range state.AllSignals() {
		require.NoError(t, err)
		seqs[signal.Seq] = true
	}
	require.Len(t, seqs, senders*each)
	for seq := range int64(senders * each) {
		assert.True(t, seqs[seq], seq)
	}
}

func TestSendRefusesWhatIsNoSignal(t *testing.T) {
	t.Parallel()
	s := newScratch(t, pinged, "")
	for name, c := range map[string]struct {
		signal  snapshot.Signal
		message string
	}{
		"no name":         {snapshot.Signal{Payload: json.RawMessage(`1`)}, "a signal needs a name"},
		"no UTF-8":        {snapshot.Signal{Name: "\xff", Payload: json.RawMessage(`1`)}, "the name of the signal is not valid UTF-8"},
		"bad correlation": {snapshot.Signal{Name: "p", CorrelationID: new("\xff"), Payload: json.RawMessage(`1`)}, "the correlation id is not valid UTF-8"},
		"no payload":      {snapshot.Signal{Name: "p"}, "payload: the text is empty; expected one JSON value"},
		"no JSON":         {snapshot.Signal{Name: "p", Payload: json.RawMessage(`{`)}, "payload: not JSON: the text ends in the middle of a value"},
	} {
		_, _, err := sendTo(t.Context(), s.open(t), c.signal)
		assert.Equal(t, c.message, fails(t, fault.InvalidInput, err), name)
	}
	assert.Len(t, s.entries, 1)
}

func TestARunThatHasEndedTakesNoSignals(t *testing.T) {
	t.Parallel()
	s := newScratch(t, pinged, "")
	sent := s.send("ping", "", `1`)
	s.finishes()
	entries := len(s.entries)
	_, _, err := sendTo(t.Context(), s.open(t), snapshot.Signal{Name: "ping", Payload: json.RawMessage(`2`), ReceivedAtMs: 1})
	assert.Equal(t, "run r is finished; nothing waits for signals", fails(t, fault.RunNotResumable, err))
	_, known, err := sendTo(t.Context(), s.open(t), sent)
	require.NoError(t, err)
	assert.True(t, known, "who sends again after an unclear outcome is told the truth")
	assert.Len(t, s.entries, entries)
}

// Another process sends the same signal, after one more, while it is being sent.
func TestWhoSendsASignalThatAnotherSendsMeanwhileIsToldItsNumber(t *testing.T) {
	t.Parallel()
	store, _ := openIn(t, repotest.New(t, repotest.Commit))
	create(t, store, "r", parse(t, pinged), nil)
	head := func() *timeline.Head {
		h, err := store.Head(t.Context(), "r")
		require.NoError(t, err)
		return h
	}
	same := snapshot.Signal{Name: "ping", Payload: json.RawMessage("1"), ReceivedAtMs: 1}
	overtaken := &overtaken{Head: head(), once: func() {
		other := same
		other.Name = "pong"
		for _, s := range []snapshot.Signal{other, same} {
			_, _, err := sendTo(t.Context(), head(), s)
			require.NoError(t, err)
		}
	}}
	sent, _, err := sendTo(t.Context(), overtaken, same)
	require.NoError(t, err)
	assert.EqualValues(t, 1, sent.Seq)
	assert.Equal(t, 2, head().State().Signals().Len())
}

func TestASignalThatComesWhileTheRunIsGivenBackIsSeenInARepository(t *testing.T) {
	t.Parallel()
	store, opts := openIn(t, repotest.New(t, repotest.Commit))
	wf := parse(t, pinged)
	overtaken := &overtaken{Head: create(t, store, "r", wf, nil), subject: "run waits for", once: func() {
		head, err := store.Head(t.Context(), "r")
		require.NoError(t, err)
		_, _, err = sendTo(t.Context(), head, snapshot.Signal{Name: "ping", Payload: json.RawMessage("1"), ReceivedAtMs: 1})
		require.NoError(t, err)
	}}
	result, err := engine.RunParsed(t.Context(), overtaken, wf, opts)
	require.NoError(t, err)
	assert.Equal(t, snapshot.RunFinished, result.Run.Status)
	assert.Nil(t, overtaken.once)
}

// overtaken lets others be first once, where the subject says so.
type overtaken struct {
	*timeline.Head
	subject string // a part of it
	once    func()
}

func (o *overtaken) Update(ctx context.Context, build func() (*snapshot.Draft, error)) error {
	return o.Head.Update(ctx, func() (*snapshot.Draft, error) {
		d, err := build()
		if once := o.once; once != nil && d != nil && strings.Contains(d.Subject, o.subject) {
			o.once = nil
			once()
		}
		return d, err
	})
}
