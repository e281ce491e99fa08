package tables

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/snapshot"
)

func eventRow(seq int64, kind, payload string) source.Row {
	return source.Row{
		"run_id": dbrow.Text("r"), "seq": dbrow.Int(seq), "timestamp_ms": dbrow.Int(5),
		"type": dbrow.Text(kind), "payload_json": dbrow.Text(payload),
	}
}

// eventFacts are the facts of a run r of workflow w with events, as an import takes them.
func eventFacts(rows []source.Row) *Facts {
	f := &Facts{
		Run:    snapshot.Run{ID: "r", Workflow: "w"},
		Frames: []FrameFacts{{Frame: 0, PeerNo: 1, ContentHash: "c1", XMLHash: "x1"}, {Frame: 1, PeerNo: 2, ContentHash: "c2"}},
	}
	next := int64(0)
	for _, row := range rows {
		if e, ok := ReadEvent(row, "r", "w", framesByPeer(f.Frames)); ok {
			f.Events = append(f.Events, Numbered(e, next))
			next = e.Seq + 1
		}
	}
	return f
}

// payloads are the texts that an export writes for the events of rows.
func payloads(rows []source.Row) (f *Facts, texts []string) {
	f = eventFacts(rows)
	for _, row := range f.Rows(Events) {
		texts = append(texts, row["payload_json"].Bytes)
	}
	return f, texts
}

func TestEventsAreKeptWithoutWhatFollowsFromTheRun(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ kind, payload, kept string }{
		"of a run": {"RunStarted", `{"type":"RunStarted","runId":"r","timestampMs":5,"correlation":{"runId":"r","workflowName":"w"}}`, `{}`},
		"of an attempt": {
			"NodeStarted",
			`{"type":"NodeStarted","runId":"r","nodeId":"n","iteration":2,"attempt":1,"timestampMs":5,` +
				`"correlation":{"runId":"r","workflowName":"w","nodeId":"n","iteration":2,"attempt":1}}`,
			`{"nodeId":"n","iteration":2,"attempt":1}`,
		},
		"of a frame": {
			"FrameCommitted",
			`{"type":"FrameCommitted","runId":"r","frameNo":1,"xmlHash":"x1","trigger":{"reason":"x"},"timestampMs":5,` +
				`"correlation":{"runId":"r","workflowName":"w"}}`,
			`{"frameNo":1,"trigger":{"reason":"x"}}`,
		},
		"of a snapshot": {
			"SnapshotCaptured",
			`{"type":"SnapshotCaptured","runId":"r","frameNo":2,"contentHash":"c2","timestampMs":5,"correlation":{"runId":"r","workflowName":"w"}}`,
			`{"frameNo":2}`,
		},
		"of a decision, which says nothing of what it belongs to": {
			"ApprovalGranted", `{"type":"ApprovalGranted","runId":"r","nodeId":"n","iteration":0,"timestampMs":5}`, `{"nodeId":"n","iteration":0}`,
		},
		"of a snapshot that is gone": {
			"SnapshotCaptured",
			`{"type":"SnapshotCaptured","runId":"r","frameNo":7,"contentHash":"c7","timestampMs":5,"correlation":{"runId":"r","workflowName":"w"}}`,
			`{"frameNo":7,"contentHash":"c7"}`,
		},
		"of a snapshot with another hash": {
			"SnapshotCaptured",
			`{"type":"SnapshotCaptured","runId":"r","frameNo":2,"contentHash":"other","timestampMs":5,"correlation":{"runId":"r","workflowName":"w"}}`,
			`{"frameNo":2,"contentHash":"other"}`,
		},
		"of another workflow's name": {
			"RunStarted", `{"type":"RunStarted","runId":"r","timestampMs":5,"correlation":{"runId":"r","workflowName":"workflow"}}`,
			`{"correlation":{"runId":"r","workflowName":"workflow"}}`,
		},
		"of numbers as they are spelled": {
			"NodeOutput", `{"type":"NodeOutput","runId":"r","text":"\u00fc\ud800","n":1.50e+400,"timestampMs":5,"correlation":{"runId":"r","workflowName":"w"}}`,
			`{"text":"\u00fc\ud800","n":1.50e+400}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, texts := payloads([]source.Row{eventRow(0, test.kind, test.payload)})
			require.Equal(t, []string{test.payload}, texts, "an export writes it again")
			require.Equal(t, []snapshot.Event{{Type: test.kind, AtMs: 5, Payload: []byte(test.kept)}}, f.Events)
		})
	}
}

func TestOfEventsThatSmithersWouldNotWriteWeTakeWhatCanBeStored(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<10)
	for name, test := range map[string]struct{ payload, kept string }{
		"another order":             {`{"runId":"r","type":"T","nodeId":"` + long + `","timestampMs":5}`, `{"nodeId":"` + long + `"}`},
		"space between members":     {`{"type": "T"}`, `{}`},
		"another run":               {`{"type":"T","runId":"other","timestampMs":5}`, `{"runId":"other"}`},
		"another type":              {`{"type":"U","runId":"r","timestampMs":5}`, `{}`},
		"another time":              {`{"type":"T","runId":"r","timestampMs":6}`, `{}`},
		"a seq":                     {`{"type":"T","runId":"r","seq":9,"timestampMs":5}`, `{}`},
		"a seq as we spell it":      {`{"type":"T","runId":"r","__smithersSeq":9,"timestampMs":5}`, `{}`},
		"a member twice":            {`{"type":"T","a":1,"a":2}`, `{}`},
		"a frame that is no number": {`{"type":"T","frameNo":"1"}`, `{"frameNo":"1"}`},
		"an array":                  {`[1]`, `{}`},
		"no JSON":                   {`{"type":`, `{}`},
		"nothing":                   {``, `{}`},
		"JSON too deep":             {`{"a":` + strings.Repeat("[", 10000) + strings.Repeat("]", 10000) + `}`, `{}`},
		"text that is not UTF-8":    {"{\"a\":\"\xff\"}", `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := eventFacts([]source.Row{eventRow(0, "T", test.payload)})
			require.JSONEq(t, test.kept, string(f.Events[0].Payload))
		})
	}
}

func TestAGapInTheNumbersOfEventsIsKeptInTheOneAfterIt(t *testing.T) {
	t.Parallel()
	const payload = `{"type":"T","runId":"r","timestampMs":5,"correlation":{"runId":"r","workflowName":"w"}}`
	var rows []source.Row
	for _, seq := range []int64{3, 4, 9, 10, 11} {
		rows = append(rows, eventRow(seq, "T", payload))
	}
	f := eventFacts(rows)
	var kept []string
	for _, e := range f.Events {
		kept = append(kept, string(e.Payload))
	}
	require.Equal(t, []string{`{"__smithersSeq":3}`, `{}`, `{"__smithersSeq":9}`, `{}`, `{}`}, kept)
	seqs, next := PeerSeqs(f.Events)
	require.Equal(t, []int64{3, 4, 9, 10, 11}, seqs)
	require.Equal(t, int64(12), next)
}

func TestARowThatIsNoEventIsNotOneOfOurs(t *testing.T) {
	t.Parallel()
	const payload = `{"type":"T","runId":"r","timestampMs":5,"correlation":{"runId":"r","workflowName":"w"}}`
	for name, set := range map[string]func(source.Row){
		"a type that is NULL":       func(row source.Row) { row["type"] = source.Value{} },
		"a type that is empty":      func(row source.Row) { row["type"] = dbrow.Text("") },
		"a type that is not UTF-8":  func(row source.Row) { row["type"] = dbrow.Text("\xff") },
		"a time that is NULL":       func(row source.Row) { row["timestamp_ms"] = source.Value{} },
		"a time before 1970":        func(row source.Row) { row["timestamp_ms"] = dbrow.Int(-1) },
		"a time beyond doubles":     func(row source.Row) { row["timestamp_ms"] = dbrow.Int(1 << 53) },
		"a time that is a fraction": func(row source.Row) { row["timestamp_ms"] = realValue(5.5) },
		"a seq that is text":        func(row source.Row) { row["seq"] = dbrow.Text("1") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			odd := eventRow(1, "T", payload)
			set(odd)
			require.Len(t, eventFacts([]source.Row{eventRow(0, "T", payload), odd, eventRow(2, "T", payload)}).Events, 2)
		})
	}
}
