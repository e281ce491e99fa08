package diff_test

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/diff"
	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Rows of a mailbox.
const (
	requested = `{"attempt":1,"status":"requested","title":"Ship it?","requestedAtMs":5}`
	approved  = `{"attempt":1,"status":"approved","title":"Ship it?","requestedAtMs":5,"decidedAtMs":9,"decidedBy":"ada","note":"fine"}`
	pending   = `{"attempt":1,"kind":"ask","status":"pending","prompt":"What now?","requestedAtMs":5}`
	answered  = `{"attempt":1,"kind":"ask","status":"answered","prompt":"What now?","requestedAtMs":5,"response":"go on","answeredAtMs":9,"answeredBy":"ada"}`
	waiting   = `{"attempt":1,"kind":"timer","status":"waiting","startedAtMs":5,"dueAtMs":8}`
	fired     = `{"attempt":1,"kind":"timer","status":"fired","startedAtMs":5,"dueAtMs":8,"endedAtMs":9}`
	forPing   = `{"attempt":1,"kind":"signal","status":"waiting","signal":"ping","anyCorrelation":true,"startedAtMs":5}`
	gotPing   = `{"attempt":2,"kind":"signal","status":"received","signal":"ping","anyCorrelation":true,"startedAtMs":6,"endedAtMs":9,"signalSeq":0}`
	ping      = `{"seq":0,"name":"ping","payload":{"n":1},"receivedAtMs":7}`
	pong      = `{"seq":1,"name":"pong","correlationId":"T-1","payload":null,"receivedAtMs":7}`
)

func mailRows() rows {
	return rows{
		"approvals ship::0":      requested,
		"human-requests ask::0":  pending,
		"waits nap::0":           waiting,
		"waits listen::0":        forPing,
		"signals ping":           ping,
		"human-requests gone::0": pending,
	}
}

func TestStatesComparesTheMailbox(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		edit rows
		got  func(*diff.Result) any
		want any
	}{
		"an approval that is new": {
			rows{"approvals ship::10": requested, "approvals ship::9": requested},
			func(r *diff.Result) any { return keysOf(r.ApprovalsAdded) },
			[]string{"ship::9", "ship::10"},
		},
		"an approval that is decided": {
			rows{"approvals ship::0": approved},
			func(r *diff.Result) any { return r.ApprovalsChanged[0].Key + " " + r.ApprovalsChanged[0].To.Status },
			"ship::0 approved",
		},
		"an approval that a reset took away": {
			rows{"approvals ship::0": ""},
			func(r *diff.Result) any { return keysOf(r.ApprovalsRemoved) },
			[]string{"ship::0"},
		},
		"a request that is answered": {
			rows{"human-requests ask::0": answered},
			func(r *diff.Result) any { return string(r.HumanRequestsChanged[0].To.Response) },
			`"go on"`,
		},
		"requests that are new and gone": {
			rows{"human-requests ask::1": pending, "human-requests gone::0": ""},
			func(r *diff.Result) any {
				return append(keysOf(r.HumanRequestsAdded), keysOf(r.HumanRequestsRemoved)...)
			},
			[]string{"ask::1", "gone::0"},
		},
		"a wait that has ended": {
			rows{"waits nap::0": fired},
			func(r *diff.Result) any { return r.WaitsChanged[0].From.Status + " " + r.WaitsChanged[0].To.Status },
			"waiting fired",
		},
		"waits that are new and gone": {
			rows{"waits nap::1": waiting, "waits nap::0": ""},
			func(r *diff.Result) any { return append(keysOf(r.WaitsAdded), keysOf(r.WaitsRemoved)...) },
			[]string{"nap::1", "nap::0"},
		},
		"a signal that came": {
			rows{"signals pong": pong},
			func(r *diff.Result) any { return namesOf(r.SignalsAdded) },
			[]string{"1 pong"},
		},
		"a signal that was taken back": {
			rows{"signals ping": ""},
			func(r *diff.Result) any { return namesOf(r.SignalsRemoved) },
			[]string{"0 ping"},
		},
		"a signal by another number": {
			rows{"signals ping": `{"seq":1,"name":"ping","payload":{"n":1},"receivedAtMs":7}`, "signals pong": `{"seq":0,"name":"pong","payload":1,"receivedAtMs":7}`},
			func(r *diff.Result) any { return append(namesOf(r.SignalsRemoved), namesOf(r.SignalsAdded)...) },
			[]string{"0 ping", "0 pong", "1 ping"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var store objstoretest.Memory
			result, err := diff.States(state(t, &store, mailRows()), state(t, &store, mailRows().with(tt.edit)))
			require.NoError(t, err)
			assert.False(t, result.Empty())
			assert.Equal(t, tt.want, tt.got(result))
		})
	}
}

func keysOf[T any](list []diff.Mail[T]) []string {
	keys := make([]string, len(list))
	for i, m := range list {
		keys[i] = m.Key
	}
	return keys
}

func namesOf(list []diff.Signal) []string {
	names := make([]string, len(list))
	for i, s := range list {
		names[i] = strconv.FormatInt(s.Seq, 10) + " " + s.Name
	}
	return names
}

func TestTheMailboxInJSON(t *testing.T) {
	t.Parallel()
	var store objstoretest.Memory
	result, err := diff.States(state(t, &store, rows{"human-requests ask::0": pending}), state(t, &store, rows{
		"human-requests ask::0": answered, "approvals ship::0": requested, "waits nap::0": waiting, "signals ping": ping,
	}))
	require.NoError(t, err)
	var got map[string]any
	text := encode(t, result)
	require.NoError(t, decode(text, &got))
	assert.Equal(t, []any{"ship::0"}, got["approvalsAdded"])
	assert.Equal(t, []any{"nap::0"}, got["waitsAdded"])
	assert.Equal(t, []any{map[string]any{"seq": number("0"), "name": "ping", "correlationId": nil}}, got["signalsAdded"])
	assert.Contains(t, text, `"humanRequestsChanged":[{"nodeId":"ask::0","from":{"nodeId":"ask",`)
	assert.Contains(t, text, `"response":"go on"`)
	assert.Contains(t, text, `"approvalsChanged":[]`)
}

// What a run waits for costs nothing to compare where it is the same.
func TestAnEqualMailboxIsNeverRead(t *testing.T) {
	t.Parallel()
	var store countingStore
	many := rows{"nodes a::0": `{"state":"pending"}`}
	for i := range 200 {
		many["signals "+strconv.Itoa(i)] = `{"seq":` + strconv.Itoa(i) + `,"name":"s","payload":1,"receivedAtMs":` + strconv.Itoa(i) + `}`
		many["approvals "+snapshot.Key("task-"+strconv.Itoa(i), 0)] = requested
	}
	a := state(t, &store, many)
	b, err := a.Edit(&store, rows{"nodes a::0": `{"state":"finished"}`}.changes())
	require.NoError(t, err)
	store.reads = make(map[objstore.ID]int)
	result, err := diff.States(a, b)
	require.NoError(t, err)
	require.Len(t, result.NodesChanged, 1)
	assert.LessOrEqual(t, len(store.reads), 6, "of each side the page of the node and what is above it")

	clear(store.reads)
	c, err := a.Edit(&store, rows{"approvals task-7::0": approved}.changes())
	require.NoError(t, err)
	clear(store.reads)
	result, err = diff.States(a, c)
	require.NoError(t, err)
	require.Len(t, result.ApprovalsChanged, 1)
	assert.LessOrEqual(t, len(store.reads), 8)
}

func number(text string) any { return json.Number(text) }
