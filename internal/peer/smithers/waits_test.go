package smithers

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrun"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/snapshot"
)

// tryOf is an attempt of the node n that began at 100, with what Smithers keeps about it.
func tryOf(state, meta string, finished source.Value) source.Row {
	return source.Row{
		"node_id": dbrow.Text("n"), "iteration": dbrow.Int(2), "attempt": dbrow.Int(1), "state": dbrow.Text(state), "started_at_ms": dbrow.Int(100),
		"finished_at_ms": finished, "cached": dbrow.Int(0), "meta_json": dbrow.Text(meta),
	}
}

func signalMeta(seq, received, timedOut string) string {
	return `{"kind":"wait-for-event","waitForEvent":{"signalName":"paid","correlationId":"o-7","onTimeout":"fail","timeoutMs":500,"waitAsync":false,` +
		`"startedAtMs":100,"resolvedSignalSeq":` + seq + `,"receivedAtMs":` + received + `,"timedOutAtMs":` + timedOut + `}}`
}

func timerMetaOf(fired string) string {
	return `{"kind":"timer","timer":{"timerId":"n","timerType":"duration","duration":"2h","until":null,"createdAtMs":100,"firesAtMs":300,"firedAtMs":` + fired + `}}`
}

// mailOfTry is the mailbox of a run that has one attempt and a signal, which Smithers has as number 12.
func mailOfTry(t *testing.T, row source.Row) *mailbox {
	t.Helper()
	a, _, ok := tables.ReadAttempt(row)
	require.True(t, ok)
	one := dbrun.Attempt{Attempt: a}
	if w, ok := tables.ReadWait(row, a); ok {
		one.Wait = &w
	}
	mail := dbrun.ReadMail(nil, []dbrun.Attempt{one}, nil, 0)
	mail.Signals = []dbrun.Signal{{Signal: snapshot.Signal{Name: "paid", Payload: []byte(`1`), ReceivedAtMs: 150}, Seq: 12}}
	return &mailbox{Mail: mail}
}

func TestAWaitIsAsItWasAtATime(t *testing.T) {
	t.Parallel()
	signal := snapshot.Wait{
		NodeID: "n", Iteration: 2, Attempt: 1, Kind: snapshot.WaitSignal, Status: snapshot.WaitWaiting, Signal: "paid", CorrelationID: new("o-7"),
		StartedAtMs: 100, DueAtMs: new(int64(600)),
	}
	timer := snapshot.Wait{
		NodeID: "n", Iteration: 2, Attempt: 1, Kind: snapshot.WaitTimer, Status: snapshot.WaitWaiting, StartedAtMs: 100, DueAtMs: new(int64(300)),
	}
	over := func(w snapshot.Wait, status string, atMs int64) []snapshot.Wait {
		w.Status, w.EndedAtMs = status, &atMs
		if status == snapshot.WaitReceived {
			w.SignalSeq = new(int64(0))
		}
		return []snapshot.Wait{w}
	}
	for name, test := range map[string]struct {
		row  source.Row
		lies []snapshot.Wait // at 120
		ends []snapshot.Wait // at the end
	}{
		"a signal":                {tryOf("waiting-event", signalMeta("null", "null", "null"), source.Value{}), []snapshot.Wait{signal}, []snapshot.Wait{signal}},
		"one that came":           {tryOf("finished", signalMeta("12", "150", "null"), dbrow.Int(200)), []snapshot.Wait{signal}, over(signal, snapshot.WaitReceived, 150)},
		"one before it goes on":   {tryOf("waiting-event", signalMeta("12", "150", "null"), source.Value{}), []snapshot.Wait{signal}, over(signal, snapshot.WaitReceived, 150)},
		"one that nobody has":     {tryOf("finished", signalMeta("13", "150", "null"), dbrow.Int(200)), []snapshot.Wait{signal}, []snapshot.Wait{}},
		"one that came too late":  {tryOf("failed", signalMeta("null", "null", "650"), dbrow.Int(650)), []snapshot.Wait{signal}, over(signal, snapshot.WaitExpired, 650)},
		"one that was given up":   {tryOf("cancelled", signalMeta("null", "null", "null"), dbrow.Int(200)), []snapshot.Wait{signal}, []snapshot.Wait{}},
		"a timer":                 {tryOf("waiting-timer", timerMetaOf("null"), source.Value{}), []snapshot.Wait{timer}, []snapshot.Wait{timer}},
		"one that went off":       {tryOf("finished", timerMetaOf("310"), dbrow.Int(310)), []snapshot.Wait{timer}, over(timer, snapshot.WaitFired, 310)},
		"a task":                  {tryOf("finished", `{"kind":"compute"}`, dbrow.Int(310)), []snapshot.Wait{}, []snapshot.Wait{}},
		"a timer without a time":  {tryOf("waiting-timer", `{"timer":{"firesAtMs":"soon"}}`, source.Value{}), []snapshot.Wait{}, []snapshot.Wait{}},
		"a signal without a name": {tryOf("waiting-event", `{"waitForEvent":{"signalName":" "}}`, source.Value{}), []snapshot.Wait{}, []snapshot.Wait{}},
		"what is no JSON":         {tryOf("waiting-event", `{"waitForEvent":`, source.Value{}), []snapshot.Wait{}, []snapshot.Wait{}},
	} {
		mail := mailOfTry(t, test.row)
		var w snapshot.Whole
		mail.fill(&w, 99, nil)
		require.Empty(t, w.Waits, name)
		mail.fill(&w, 120, nil)
		require.Equal(t, test.lies, w.Waits, name)
		mail.fill(&w, tables.Never, nil)
		require.Equal(t, test.ends, w.Waits, name)
		for _, wait := range w.Waits {
			_, err := snapshot.DecodeWait(snapshot.EncodeWait(wait))
			require.NoError(t, err, name)
		}
	}
}

func TestANodeWaitsForWhatItsNewestAttemptWaitsFor(t *testing.T) {
	t.Parallel()
	first, second := mailOfTry(t, tryOf("cancelled", timerMetaOf("null"), dbrow.Int(150))), mailOfTry(t, tryOf("waiting-timer", timerMetaOf("null"), source.Value{}))
	again := second.Tries[0][0]
	again.Attempt.Attempt, again.Attempt.StartedAtMs, again.Wait.Wait.Attempt, again.Wait.Wait.StartedAtMs = 2, 200, 2, 200
	mail := &mailbox{Mail: dbrun.Mail{Tries: [][]dbrun.Attempt{{again, first.Tries[0][0]}}}}
	for atMs, want := range map[int64]int{120: 1, 160: 0, 200: 2, tables.Never: 2} {
		attempt := 0
		for _, w := range mail.waitsAt(atMs, nil) {
			attempt = w.Attempt
		}
		require.Equal(t, want, attempt, "at %d", atMs)
	}
}

func TestOfSeveralQuestionsOfANodeTheNewestIsAsked(t *testing.T) {
	t.Parallel()
	ask := func(prompt string, atMs int64) snapshot.HumanRequest {
		return snapshot.HumanRequest{NodeID: "n", Attempt: 1, Kind: snapshot.HumanAsk, Status: snapshot.HumanPending, Prompt: prompt, RequestedAtMs: atMs}
	}
	mail := &mailbox{Mail: dbrun.Mail{HumanRequests: []snapshot.HumanRequest{ask("second", 20), ask("first", 10)}}}
	for atMs, want := range map[int64]string{15: "first", tables.Never: "second"} {
		var w snapshot.Whole
		mail.fill(&w, atMs, nil)
		require.Len(t, w.HumanRequests, 1)
		require.Equal(t, want, w.HumanRequests[0].Prompt)
	}
}
