package export

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/snapshot"
)

// waitTree has a wait before a loop, one in it, and one after it, all for the same signal, and one for a signal with a correlation id.
const waitTree = `{"kind":"element","tag":"smithers:workflow","props":{},"children":[
	{"kind":"element","tag":"smithers:wait-for-event","props":{"event":"go","id":"first","onTimeout":"fail"},"children":[]},
	{"kind":"element","tag":"smithers:ralph","props":{"id":"rounds"},"children":[
		{"kind":"element","tag":"smithers:wait-for-event","props":{"event":"go","id":"each"},"children":[]},
		{"kind":"element","tag":"smithers:ralph","props":{"id":"inner"},"children":[
			{"kind":"element","tag":"smithers:wait-for-event","props":{"event":"go","id":"deep"},"children":[]}]}]},
	{"kind":"element","tag":"smithers:wait-for-event","props":{"event":"go","id":"last"},"children":[]},
	{"kind":"element","tag":"smithers:wait-for-event","props":{"correlationId":"c","event":"go","id":"own"},"children":[]}]}`

// exportedWait is what is exported of a wait.
type exportedWait struct {
	node      string
	iteration int64
	state     string
	seq       int64 // Smithers' number of the signal
}

func TestTheWaitsOfAForkHaveTheSignalsThatItReceived(t *testing.T) {
	t.Parallel()
	correlation := "c"
	signal := func(seq int64, id *string) snapshot.Signal {
		return snapshot.Signal{Seq: seq, Name: "go", CorrelationID: id, Payload: []byte(`{}`), ReceivedAtMs: 100 + seq}
	}
	received := snapshot.Wait{
		NodeID: "first", Attempt: 2, Kind: snapshot.WaitSignal, Signal: "go", Status: snapshot.WaitReceived,
		StartedAtMs: 50, EndedAtMs: new(int64(100)), SignalSeq: new(int64),
	}
	waits := received
	waits.Status, waits.EndedAtMs, waits.SignalSeq = snapshot.WaitWaiting, nil, nil
	beside := waits
	beside.NodeID = "last"
	over := snapshot.Node{NodeID: "first", State: snapshot.NodeFinished}
	for name, c := range map[string]struct {
		whole snapshot.Whole
		want  []exportedWait
	}{
		"nothing arrived":    {snapshot.Whole{Waits: []snapshot.Wait{waits}}, nil},
		"it was received":    {snapshot.Whole{Waits: []snapshot.Wait{received}, Signals: []snapshot.Signal{signal(0, nil)}}, []exportedWait{{"first", 0, "waiting-event", 7}}},
		"it arrived here":    {snapshot.Whole{Waits: []snapshot.Wait{waits}, Signals: []snapshot.Signal{signal(0, nil)}}, []exportedWait{{"first", 0, "waiting-event", 7}}},
		"two waited":         {snapshot.Whole{Waits: []snapshot.Wait{waits, beside}, Signals: []snapshot.Signal{signal(0, nil)}}, []exportedWait{{"first", 0, "waiting-event", 7}, {"last", 0, "waiting-event", 7}}},
		"nobody waited yet":  {snapshot.Whole{Signals: []snapshot.Signal{signal(0, nil)}}, []exportedWait{{"first", 0, "waiting-event", 7}}},
		"another is for it":  {snapshot.Whole{Signals: []snapshot.Signal{signal(0, &correlation)}}, []exportedWait{{"own", 0, "waiting-event", 7}}},
		"the wait is over":   {snapshot.Whole{Nodes: []snapshot.Node{over}, Waits: []snapshot.Wait{received}, Signals: []snapshot.Signal{signal(0, nil)}}, []exportedWait{{"first", 0, "finished", 7}}},
		"one more is there":  {snapshot.Whole{Nodes: []snapshot.Node{over}, Waits: []snapshot.Wait{received}, Signals: []snapshot.Signal{signal(0, nil), signal(1, nil)}}, []exportedWait{{"first", 0, "finished", 7}, {"last", 0, "waiting-event", 8}}},
		"the loop goes on":   {snapshot.Whole{Nodes: []snapshot.Node{over}, Loops: []snapshot.Loop{{RalphID: "rounds", Iteration: 3}, {RalphID: "inner"}}, Signals: []snapshot.Signal{signal(0, nil), signal(1, nil), signal(2, nil)}}, []exportedWait{{"each", 3, "waiting-event", 7}, {"last", 0, "waiting-event", 8}}},
		"the signal is gone": {snapshot.Whole{Waits: []snapshot.Wait{received}}, nil},
	} {
		w := &waitWriter{Facts: &tables.Facts{Whole: c.whole}, peers: map[string]int64{}, taken: map[int64]bool{}}
		require.NoError(t, json.Unmarshal([]byte(waitTree), &w.workflow))
		for _, s := range c.whole.Signals {
			w.peers[s.Digest()] = 7 + s.Seq
		}
		var got []exportedWait
		for _, row := range w.rows() {
			a, _, ok := tables.ReadAttempt(row)
			require.True(t, ok, name)
			wait, ok := tables.ReadWait(row, a)
			require.True(t, ok, name)
			got = append(got, exportedWait{a.NodeID, int64(a.Iteration), a.State, wait.Signal})
			assert.Equal(t, a.State == snapshot.AttemptFinished, a.FinishedAtMs != nil, name)
		}
		assert.Equal(t, c.want, got, name)
	}
}
