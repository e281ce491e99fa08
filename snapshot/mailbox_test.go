package snapshot_test

import (
	"fmt"
	"testing"

	"github.com/gowebpki/jcs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// someSignal is a signal as it is sent; its seq is given.
func someSignal(seq int64, name string) snapshot.Signal {
	return snapshot.Signal{Seq: seq, Name: name, Payload: []byte(`{"ok": true}`), ReceivedAtMs: someTime}
}

func signal(s snapshot.Signal) snapshot.Change {
	return set(snapshot.CollectionSignals, snapshot.EncodeSignal(s))
}

func approval(a snapshot.Approval) snapshot.Change {
	return set(snapshot.CollectionApprovals, snapshot.EncodeApproval(a))
}

func humanRequest(h snapshot.HumanRequest) snapshot.Change {
	return set(snapshot.CollectionHumanRequests, snapshot.EncodeHumanRequest(h))
}

func wait(w snapshot.Wait) snapshot.Change {
	return set(snapshot.CollectionWaits, snapshot.EncodeWait(w))
}

// mail is something in every collection of the mailbox for a node.
func mail(id string) []snapshot.Change {
	return []snapshot.Change{
		approval(snapshot.Approval{NodeID: id, Attempt: 1, Status: snapshot.ApprovalRequested, Title: "Ship it?"}),
		humanRequest(snapshot.HumanRequest{NodeID: id, Attempt: 1, Kind: snapshot.HumanConfirm, Status: snapshot.HumanPending}),
		wait(snapshot.Wait{NodeID: id, Attempt: 1, Kind: snapshot.WaitSignal, Status: snapshot.WaitWaiting, Signal: "go"}),
	}
}

func TestTheMailboxIsStoredInOneForm(t *testing.T) {
	t.Parallel()
	requested := `{"attempt":1,"decidedAtMs":null,"decidedBy":null,"note":null,"requestedAtMs":5,"status":"requested","title":"T"}`
	pending := `{"answeredAtMs":null,"answeredBy":null,"attempt":1,"form":{ "type": "string" },"kind":"ask","prompt":"P","requestedAtMs":5,"response":null,"status":"pending","timeoutAtMs":9}`
	answered := `{"answeredAtMs":6,"answeredBy":"me","attempt":1,"form":null,"kind":"json","prompt":"P","requestedAtMs":5,"response":null,"status":"answered","timeoutAtMs":null}`
	waiting := `{"anyCorrelation":true,"attempt":1,"correlationId":null,"dueAtMs":null,"endedAtMs":null,"kind":"signal","signal":"go","startedAtMs":5,"status":"waiting"}`
	sent := `{"correlationId":null,"name":"go","payload":{"b":1.0, "a":[]},"receivedAtMs":5,"receivedBy":"me","seq":0}`
	digest := hexSum("smithers signal 1\n" + `{"correlationId":null,"name":"go","payload":{"b":1.0, "a":[]},"receivedAtMs":5,"receivedBy":"me"}` + "\n")
	for _, tc := range []struct{ name, collection, key, given, stored, at string }{
		{"a canonical approval", "approvals", "n::3", requested, requested, "n::3"},
		{"an approval in any order", "approvals", "n::3", `{ "title":"T", "status":"requested", "attempt":1, "requestedAtMs":5, "nodeId":"n", "summary":null }`, requested, "n::3"},
		{"an approval that says itself what it is of", "approvals", "", `{"title":"T","status":"requested","attempt":1,"requestedAtMs":5,"nodeId":"n","iteration":3}`, requested, "n::3"},
		{"a canonical human request", "human-requests", "n::3", pending, pending, "n::3"},
		{"a human request in any order", "human-requests", "n::3", `{"form" : { "type": "string" } ,"kind":"ask","attempt":1,"status":"pending","prompt":"P","requestedAtMs":5,"timeoutAtMs":9,"response":null}`, pending, "n::3"},
		{"an answer may be null", "human-requests", "n::3", `{"kind":"json","attempt":1,"status":"answered","prompt":"P","requestedAtMs":5,"response":null,"answeredAtMs":6,"answeredBy":"me"}`, answered, "n::3"},
		{"a canonical wait", "waits", "n::3", waiting, waiting, "n::3"},
		{"a wait in any order", "waits", "n::3", `{"status":"waiting","startedAtMs":5,"signal":"go","kind":"signal","attempt":1,"anyCorrelation":true,"iteration":3}`, waiting, "n::3"},
		{"a canonical signal", "signals", digest, sent, sent, digest},
		{"a signal's key is found out", "signals", "", `{"name":"go","seq":0,"payload": {"b":1.0, "a":[]} ,"receivedAtMs":5,"receivedBy":"me"}`, sent, digest},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := new(objstoretest.Memory)
			s := stateWith(t, w, set(tc.collection, page.Row{Key: tc.key, Value: []byte(tc.given)}))
			s, err := snapshot.OpenState(w, s.Parts())
			require.NoError(t, err)
			require.NoError(t, s.Verify(nil))
			rows := map[string]*page.Collection{
				"approvals": s.Approvals(), "human-requests": s.HumanRequests(), "waits": s.Waits(), "signals": s.Signals(),
			}
			value, found, err := rows[tc.collection].Get(tc.at)
			require.NoError(t, err)
			require.True(t, found)
			assert.Equal(t, tc.stored, string(value))
		})
	}
	for _, value := range []string{requested, answered, waiting} {
		canonical, err := jcs.Transform([]byte(value))
		require.NoError(t, err)
		assert.Equal(t, string(canonical), value, "as RFC 8785 has it, where nothing is the user's")
	}
}

func TestTheMailboxRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, collection, key, given, says string }{
		{"an approval of no attempt", "approvals", "n::0", `{"status":"requested"}`, "attempt"},
		{"an unknown status", "approvals", "n::0", `{"attempt":1,"status":"maybe"}`, "status"},
		{"a decision without a time", "approvals", "n::0", `{"attempt":1,"status":"denied"}`, "decidedAtMs"},
		{"who decided what is not decided", "approvals", "n::0", `{"attempt":1,"status":"requested","decidedBy":"me"}`, "decidedBy"},
		{"an approval of another node", "approvals", "n::0", `{"attempt":1,"status":"requested","nodeId":"m"}`, "nodeId"},
		{"an unknown member", "approvals", "n::0", `{"attempt":1,"status":"requested","by":"me"}`, "by: unknown field"},
		{"an unknown kind of question", "human-requests", "n::0", `{"attempt":1,"kind":"guess","status":"pending"}`, "kind"},
		{"an answer to what is pending", "human-requests", "n::0", `{"attempt":1,"kind":"ask","status":"pending","response":"x"}`, "response"},
		{"an answered request without an answer", "human-requests", "n::0", `{"attempt":1,"kind":"ask","status":"answered","answeredAtMs":5}`, "response"},
		{"an expired request without an end", "human-requests", "n::0", `{"attempt":1,"kind":"ask","status":"expired","answeredAtMs":5}`, "timeoutAtMs"},
		{"who made a request expire", "human-requests", "n::0", `{"attempt":1,"kind":"ask","status":"expired","answeredAtMs":5,"timeoutAtMs":5,"answeredBy":"me"}`, "answeredBy"},
		{"a request that was cancelled at no time", "human-requests", "n::0", `{"attempt":1,"kind":"ask","status":"cancelled"}`, "answeredAtMs"},
		{"a timer that is never due", "waits", "n::0", `{"attempt":1,"kind":"timer","status":"waiting"}`, "dueAtMs"},
		{"a timer that is received", "waits", "n::0", `{"attempt":1,"kind":"timer","status":"received","dueAtMs":5,"endedAtMs":5}`, "status"},
		{"a timer for a signal", "waits", "n::0", `{"attempt":1,"kind":"timer","status":"waiting","dueAtMs":5,"signal":"go"}`, "set in a timer"},
		{"a wait for no signal", "waits", "n::0", `{"attempt":1,"kind":"signal","status":"waiting"}`, "signal: missing"},
		{"a signal that fired", "waits", "n::0", `{"attempt":1,"kind":"signal","status":"fired","signal":"go","endedAtMs":5}`, "status"},
		{"a signal that was received and is not said", "waits", "n::0", `{"attempt":1,"kind":"signal","status":"received","signal":"go","endedAtMs":5}`, "signalSeq"},
		{"any correlation and one", "waits", "n::0", `{"attempt":1,"kind":"signal","status":"waiting","signal":"go","anyCorrelation":true,"correlationId":"c"}`, "correlationId"},
		{"a wait that ended and waits", "waits", "n::0", `{"attempt":1,"kind":"signal","status":"waiting","signal":"go","endedAtMs":5}`, "endedAtMs"},
		{"a wait that expired and never could", "waits", "n::0", `{"attempt":1,"kind":"signal","status":"expired","signal":"go","endedAtMs":5}`, "dueAtMs"},
		{"a signal without a name", "signals", "", `{"payload":1}`, "name"},
		{"a signal without a payload", "signals", "", `{"name":"go"}`, "payload"},
		{"a signal under a key of another", "signals", "n::0", `{"name":"go","payload":1}`, "digest"},
		{"a signal whose seq leaves a gap", "signals", "", `{"name":"go","payload":1,"seq":1}`, "seq 1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := snapshot.EmptyState().Edit(new(objstoretest.Memory), []snapshot.Change{
				{Op: snapshot.OpSet, Collection: tc.collection, Key: tc.key, Value: []byte(tc.given)},
			})
			assert.ErrorIs(t, err, snapshot.ErrInvalid)
			assert.ErrorContains(t, err, tc.says)
		})
	}
}

func TestASignalIsNamedByAllButItsSeq(t *testing.T) {
	t.Parallel()
	base := someSignal(0, "go")
	same := base
	same.Seq = 7
	assert.Equal(t, base.Digest(), same.Digest())
	digests := map[string]bool{base.Digest(): true}
	for _, edit := range []func(*snapshot.Signal){
		func(s *snapshot.Signal) { s.Name = "went" },
		func(s *snapshot.Signal) { s.CorrelationID = new("") },
		func(s *snapshot.Signal) { s.CorrelationID = new("c") },
		func(s *snapshot.Signal) { s.Payload = []byte(`{"ok":true}`) },
		func(s *snapshot.Signal) { s.ReceivedAtMs++ },
		func(s *snapshot.Signal) { s.ReceivedBy = new("me") },
	} {
		other := base
		edit(&other)
		assert.False(t, digests[other.Digest()])
		digests[other.Digest()] = true
	}
}

func TestSignalsAreNumberedWithoutGaps(t *testing.T) {
	t.Parallel()
	w := new(objstoretest.Memory)
	s := stateWith(t, w, signal(someSignal(0, "a")), signal(someSignal(1, "b")))
	edit := func(changes ...snapshot.Change) error {
		_, err := s.Edit(w, changes)
		return err
	}
	assert.NoError(t, edit(signal(someSignal(2, "c"))))
	assert.NoError(t, edit(signal(someSignal(3, "d")), signal(someSignal(2, "c"))), "in any order")
	assert.NoError(t, edit(signal(someSignal(1, "b"))), "one that is there already")
	key := func(name string) string { return someSignal(0, name).Digest() }
	assert.NoError(t, edit(remove(snapshot.CollectionSignals, key("b"))), "the last one goes")
	assert.NoError(t, edit(remove(snapshot.CollectionSignals, key("a")), signal(someSignal(0, "b"))), "the others close up")
	for name, err := range map[string]error{
		"a number that is taken":             edit(signal(someSignal(1, "c"))),
		"a number too far":                   edit(signal(someSignal(3, "c"))),
		"one number for two":                 edit(signal(someSignal(2, "c")), signal(someSignal(2, "d"))),
		"another number for one that it has": edit(signal(someSignal(2, "b"))),
		"a gap that a removal leaves":        edit(remove(snapshot.CollectionSignals, key("a"))),
	} {
		assert.ErrorIs(t, err, snapshot.ErrInvalid, name)
	}
}

func TestVerifyFindsSignalsWithGaps(t *testing.T) {
	t.Parallel()
	w := new(objstoretest.Memory)
	row := snapshot.EncodeSignal(someSignal(1, "a"))
	empty, err := page.Open(w, objstore.ID{})
	require.NoError(t, err)
	signals, err := empty.Edit(w, []page.Change{{Key: row.Key, Value: row.Value}})
	require.NoError(t, err)
	s, err := snapshot.OpenState(w, []objstore.TreeEntry{signals.Entry("signals")})
	require.NoError(t, err)
	assert.ErrorIs(t, s.Verify(nil), objstore.ErrCorrupt)
}

// A small collection is a file in its tree, any other a tree.
func TestACollectionThatIsEnteredAsWhatItIsNotIsCorrupt(t *testing.T) {
	t.Parallel()
	w := new(objstoretest.Memory)
	for _, tc := range []struct {
		count int
		wrong objstore.Mode
	}{{1, objstore.ModeTree}, {40, objstore.ModeFile}, {1, objstore.ModeCommit}, {1, objstore.ModeExecutable}} {
		var changes []snapshot.Change
		for i := range tc.count {
			row := snapshot.EncodeNode(snapshot.Node{NodeID: "n", Iteration: i, State: snapshot.NodePending, OutputTable: "t"})
			changes = append(changes, snapshot.Change{Op: snapshot.OpSet, Collection: snapshot.CollectionNodes, Key: row.Key, Value: row.Value})
		}
		s, err := snapshot.EmptyState().Edit(w, changes)
		require.NoError(t, err)
		_, err = snapshot.OpenState(w, s.Parts())
		require.NoError(t, err)
		_, err = snapshot.OpenState(w, []objstore.TreeEntry{{Name: "nodes", Mode: tc.wrong, ID: s.Nodes().ID()}})
		require.ErrorIs(t, err, objstore.ErrCorrupt)
	}
}

func TestSignalsInOneOrderHaveOneID(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := new(objstoretest.Memory)
		var signals []snapshot.Change
		for i := range rapid.IntRange(1, 20).Draw(rt, "signals") {
			signals = append(signals, signal(someSignal(int64(i), fmt.Sprint("s", i))))
		}
		want := stateWith(rt, w, append(mail("a"), signals...)...)
		got := stateWith(rt, w, mail("a")...)
		for len(signals) > 0 {
			n := rapid.IntRange(1, len(signals)).Draw(rt, "at once")
			next, err := got.Edit(w, signals[:n])
			require.NoError(rt, err)
			got, signals = next, signals[n:]
		}
		require.Equal(rt, want.ID(), got.ID())
		require.NoError(rt, got.Verify(nil))
	})
}

func TestTheMailboxIsNotInTheContentHash(t *testing.T) {
	t.Parallel()
	w := new(objstoretest.Memory)
	before := stateWith(t, w, many(3)...)
	after, err := before.Edit(w, append(mail("a"), signal(someSignal(0, "go"))))
	require.NoError(t, err)
	assert.NotEqual(t, before.ID(), after.ID())
	assert.True(t, snapshot.SameCore(before, after))
	want := before.ContentHash()
	got := after.ContentHash()
	assert.Equal(t, want, got)

	other, err := before.Edit(w, []snapshot.Change{input(`1`)})
	require.NoError(t, err)
	assert.False(t, snapshot.SameCore(before, other))
}

func TestTheMailboxChangesWithoutAFrame(t *testing.T) {
	t.Parallel()
	c := start(t, snapshot.Draft{Frame: &snapshot.FrameDraft{State: many(3), Silent: true}})
	hash := c.tip.ContentHash
	requested := c.append(t, snapshot.Draft{Frame: &snapshot.FrameDraft{State: mail("a"), Silent: true}})
	assert.Equal(t, hash, requested.ContentHash)

	sent := c.append(t, snapshot.Draft{Mailbox: []snapshot.Change{signal(someSignal(0, "go"))}})
	assert.Equal(t, snapshot.NoFrame, sent.Frame)
	assert.Equal(t, hash, sent.ContentHash)
	state, err := sent.State()
	require.NoError(t, err)
	for s, err := range state.AllSignals() {
		require.NoError(t, err)
		assert.Equal(t, someSignal(0, "go"), s)
	}
	assert.Equal(t, 1, state.Signals().Len())
	assert.Equal(t, 1, state.Approvals().Len(), "the rest of it stays")
}

func TestRequestIDsAreSmithers(t *testing.T) {
	t.Parallel()
	h := snapshot.HumanRequest{NodeID: "ask me", Iteration: 2}
	assert.Equal(t, "human:run-1:ask me:2", h.RequestID("run-1"))
}
