package snapshot

import (
	"bytes"
	"encoding/json"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/objstore"
)

// These are in the package itself since most decoders are. What all of them must
// keep: if it parses, encoding it gives the same bytes; if not, there is no result.

func FuzzHeader(f *testing.F) {
	f.Add(EncodeHeader(Header{Run: "a", Tree: objstore.SHA1.ID(objstore.Tree, nil), Subject: "s", Operation: "o", VCS: "git:1"}))
	f.Add(EncodeHeader(Header{Run: "a", Tree: objstore.SHA1.ID(objstore.Tree, nil), Subject: "s", Frame: 9, Based: new(int64(3))}))
	f.Add(EncodeHeader(Header{Run: "a", Tree: objstore.SHA1.ID(objstore.Tree, nil), Subject: "s", Frame: 9, Based: new(NoFrame)}))
	f.Add(EncodeHeader(Header{Run: "a", Tree: objstore.SHA1.ID(objstore.Tree, nil), Subject: "s", IDs: []string{"call@1", "ckpt:2 é"}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := DecodeHeader(objstore.ID{}, data)
		if err != nil {
			require.Equal(t, Header{}, h)
			return
		}
		require.Equal(t, string(data), string(EncodeHeader(h)))
	})
}

func FuzzRun(f *testing.F) {
	f.Add(encodeRun(Run{ID: "a", Status: RunRunning}))
	f.Add(encodeRun(Run{
		ID: "a", Workflow: "w\n\"", WorkflowPath: "p", WorkflowHash: "h", Status: RunFailed, Error: "e", Frame: 1, NextSeq: 2, Epoch: 3, Owner: "0123456789abcdef",
		Parent:      &Parent{RunID: "p", Commit: objstore.SHA1.ID(objstore.Blob, nil), Label: "l", Description: "d", Undone: true},
		StartedAtMs: new(int64(4)), FinishedAtMs: new(int64(5)), VCSType: VCSJJ, VCSRoot: "../r", VCSRevision: "v",
	}))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := decodeRun(objstore.ID{}, data)
		if err != nil {
			require.Equal(t, Run{}, r)
			return
		}
		require.Equal(t, string(data), string(encodeRun(r)))
		require.True(t, json.Valid(data))
	})
}

func FuzzVCS(f *testing.F) {
	f.Add(encodeVCS(VCS{Type: VCSJJ, CommitID: "a", ChangeID: "b", Operation: "c", Branch: "d", Frame: 1}))
	tree := objstore.SHA1.ID(objstore.Tree, nil)
	f.Add(encodeVCS(VCS{
		Type: VCSGit, Frame: 1, Root: "../a", Tree: tree, Scope: ScopeAll, Conflicted: true, Attempts: []string{"a::0::1"},
		LeftOut: []LeftOut{{Path: "a%\xff/", Reason: LeftEmbedded, Bytes: 2}}, LeftOutMore: 3,
		Altered: []AlteredFile{{Path: "b", By: "lfs"}}, AlteredMore: 4,
		Worktrees: []Worktree{{Name: "c", VCS: VCS{Type: VCSGit, Tree: tree, Scope: ScopeTracked}}},
	}))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := decodeVCS(objstore.ID{}, data)
		if err != nil {
			require.Nil(t, v)
			return
		}
		require.Equal(t, string(data), string(encodeVCS(*v)))
		require.True(t, isSummary(v.summary()))
		var again VCS
		require.NoError(t, json.Unmarshal(data, &again))
		require.Equal(t, *v, again, "as other engines give it")
	})
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte(`{"seq":1,"timestampMs":2,"type":"A"}` + "\n" + `{"seq":2,"timestampMs":2,"type":"B","k":[1.0,"\n"]}` + "\n"))
	f.Add([]byte(""))
	file := objstore.SHA1.EmptyBlob()
	frame := Header{Run: "r", Frame: 3, Newest: 3, NextSeq: 3, AtMs: 4}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, h := range []Header{frame, {Run: "r", Frame: NoFrame, NextSeq: 3}} {
			events, err := decodeEvents(file, data, h)
			if err != nil {
				require.Nil(t, events)
				continue
			}
			again, stored := encodeEvents(events, h)
			require.True(t, stored)
			require.Equal(t, string(data), string(again))
			for line := range bytes.Lines(data) {
				require.True(t, json.Valid(line))
			}
		}
	})
}

// What is decoded lies in a cache that others read, too. It is the race detector that sees a decoder write there.
func TestEventsAreDecodedWithoutWritingToWhatTheyAreDecodedFrom(t *testing.T) {
	t.Parallel()
	data := encodeLines([]Event{{Seq: 1, AtMs: 2, Type: "A", Payload: json.RawMessage("{}")}, {Seq: 2, AtMs: 3, Type: "B", Payload: json.RawMessage(`{"k":1}`)}})
	var side sync.WaitGroup
	for range 2 {
		side.Go(func() {
			_, err := decodeEvents(objstore.SHA1.EmptyBlob(), data, Header{Frame: NoFrame, NextSeq: 3})
			assert.NoError(t, err)
		})
	}
	side.Wait()
}

func FuzzRows(f *testing.F) {
	f.Add("a::0", EncodeNode(Node{NodeID: "a", State: NodeFailed, LastAttempt: new(1), Label: new("l"), Needs: []string{"b", "c"}, RalphID: new("r"), OutputTable: "t"}).Value)
	f.Add("l", EncodeLoop(Loop{RalphID: "l", Iteration: 1}).Value)
	f.Add("a::0::1", EncodeAttempt(Attempt{NodeID: "a", Attempt: 1, State: AttemptFailed, ExitStatus: new(-1), Error: "e"}).Value)
	f.Add("a::0::1", EncodeAttempt(Attempt{NodeID: "a", Attempt: 1, State: AttemptFinished, CommitID: "b", Tree: objstore.SHA1.ID(objstore.Tree, nil), Frame: new(int64(2)), Worktree: "w", Beside: []string{"b::0::1"}}).Value)
	f.Add("a::0::1", EncodeLog("a", 0, 1, "text\n\x00").Value)
	f.Add("a::0::1", []byte(`{"exitStatus":null,"finishedAtMs":null,"m":{"a":[1,"\n"]},"startedAtMs":5,"state":"in-progress","z":true}`))
	f.Add("a::0::1::0", EncodeToolCall(ToolCall{NodeID: "a", Attempt: 1, ToolName: "bash", Status: ToolCallIntended}).Value)
	f.Add("a::0::1::2", EncodeToolCall(ToolCall{
		NodeID: "a", Attempt: 1, Seq: 2, ToolName: "bash", Kind: ToolCallTool, Status: ToolCallUnknown, FinishedAtMs: new(int64(3)), CallToken: "c",
		Input: []byte(`{ "a":1.0}`), OutputAt: &TranscriptRange{Transcript: "t", Offset: 1, Length: 2}, Error: []byte(`null`),
		SideEffect: new(true), Idempotent: new(false), AcceptsIdempotencyKey: new(true), IdempotencyKey: "k", HasRevert: new(true),
		RevertStatus: RevertFailed, RevertedAtMs: new(int64(4)), RevertError: []byte(`"e"`), ForcedPast: []byte(`[]`),
	}).Value)
	f.Fuzz(func(t *testing.T, key string, value []byte) {
		row := page.Row{Key: key, Value: value}
		comesBack(t, row, DecodeNode, EncodeNode)
		comesBack(t, row, DecodeLoop, EncodeLoop)
		comesBack(t, row, DecodeAttempt, EncodeAttempt)
		comesBack(t, row, DecodeToolCall, EncodeToolCall)
		if c, err := DecodeToolCall(row); err == nil && c.Carried == nil {
			comesBackParsed(t, row, DecodeToolCall, EncodeToolCall, toolCallKind.Parse)
		}
		if text, err := DecodeLog(row); err == nil {
			node, iteration, attempt, err := SplitAttemptKey(key)
			require.NoError(t, err)
			require.Equal(t, row, EncodeLog(node, iteration, attempt, text))
		} else {
			require.Empty(t, text)
		}
	})
}

// comesBack checks that a row which decodes is encoded as it was.
func comesBack[T any](t *testing.T, row page.Row, decode func(page.Row) (T, error), encode func(T) page.Row) {
	t.Helper()
	var none T
	v, err := decode(row)
	if err != nil {
		require.Equal(t, none, v)
		return
	}
	require.Equal(t, row, encode(v))
}

// comesBackParsed is comesBack for rows with values of the user's. What is parsed, with all
// its members in any order, is decoded again once it is stored.
func comesBackParsed[T any](
	t *testing.T, row page.Row, decode func(page.Row) (T, error), encode func(T) page.Row, parse func(string, json.RawMessage) (T, error),
) {
	t.Helper()
	comesBack(t, row, decode, encode)
	if _, err := decode(row); err == nil {
		require.NoError(t, Limits{Depth: maxDepth}.CheckValue(row.Value))
	}
	if (Limits{}).CheckValue(row.Value) != nil {
		return
	}
	for _, key := range []string{row.Key, ""} {
		v, err := parse(key, row.Value)
		if err != nil {
			var none T
			require.Equal(t, none, v)
			continue
		}
		stored := encode(v)
		require.True(t, json.Valid(stored.Value))
		again, err := decode(stored)
		require.NoError(t, err)
		require.Equal(t, v, again)
	}
}

func FuzzApproval(f *testing.F) {
	add := func(a Approval) { row := EncodeApproval(a); f.Add(row.Key, row.Value) }
	add(Approval{NodeID: "a", Attempt: 1, Status: ApprovalRequested, Title: "t", Summary: "s"})
	add(Approval{NodeID: "a", Iteration: 2, Attempt: 1, Status: ApprovalDenied, DecidedAtMs: new(int64(3)), DecidedBy: new("b"), Note: new("n\n")})
	f.Fuzz(func(t *testing.T, key string, value []byte) {
		comesBackParsed(t, page.Row{Key: key, Value: value}, DecodeApproval, EncodeApproval, approvalKind.Parse)
	})
}

func FuzzHumanRequest(f *testing.F) {
	add := func(h HumanRequest) { row := EncodeHumanRequest(h); f.Add(row.Key, row.Value) }
	add(HumanRequest{NodeID: "a", Attempt: 1, Kind: HumanAsk, Status: HumanPending, Prompt: "p", TimeoutAtMs: new(int64(3))})
	add(HumanRequest{
		NodeID: "a", Attempt: 1, Kind: HumanJSON, Status: HumanAnswered, Form: []byte(`{ "type" : [] }`), Response: []byte("[1.0,\n\"}\"]"),
		AnsweredAtMs: new(int64(2)), AnsweredBy: new("b"),
	})
	add(HumanRequest{NodeID: "a", Attempt: 1, Kind: HumanJSON, Status: HumanAnswered, Response: []byte("null"), AnsweredAtMs: new(int64(2))})
	for _, noJSON := range []string{`[}`, `["a`, `"\u"`, `nul`, "\"\xff\""} {
		add(HumanRequest{NodeID: "a", Attempt: 1, Kind: HumanAsk, Status: HumanPending, Form: []byte(noJSON)})
	}
	f.Fuzz(func(t *testing.T, key string, value []byte) {
		comesBackParsed(t, page.Row{Key: key, Value: value}, DecodeHumanRequest, EncodeHumanRequest, humanRequestKind.Parse)
	})
}

func FuzzSignal(f *testing.F) {
	add := func(s Signal) { row := EncodeSignal(s); f.Add(row.Key, row.Value) }
	add(Signal{Name: "a", Payload: []byte(`null`)})
	add(Signal{Name: "a", Payload: []byte(`[}`)})
	add(Signal{Name: "a", Payload: []byte(`["a`)})
	add(Signal{Seq: 3, Name: "a", CorrelationID: new(""), Payload: []byte(`{"a" :"}", "a":1e0}`), ReceivedAtMs: 4, ReceivedBy: new("b")})
	f.Fuzz(func(t *testing.T, key string, value []byte) {
		comesBackParsed(t, page.Row{Key: key, Value: value}, DecodeSignal, EncodeSignal, signalKind.Parse)
		if (Limits{}).CheckValue(value) != nil {
			return
		}
		if s, err := signalKind.Parse("", value); err == nil { // nobody guesses digests
			comesBackParsed(t, EncodeSignal(s), DecodeSignal, EncodeSignal, signalKind.Parse)
		}
	})
}

func FuzzWait(f *testing.F) {
	add := func(w Wait) { row := EncodeWait(w); f.Add(row.Key, row.Value) }
	add(Wait{NodeID: "a", Attempt: 1, Kind: WaitTimer, Status: WaitFired, DueAtMs: new(int64(3)), EndedAtMs: new(int64(4))})
	add(Wait{NodeID: "a", Attempt: 1, Kind: WaitSignal, Status: WaitWaiting, Signal: "s", AnyCorrelation: true})
	add(Wait{NodeID: "a", Attempt: 1, Kind: WaitSignal, Status: WaitReceived, Signal: "s", CorrelationID: new("c"), EndedAtMs: new(int64(4)), SignalSeq: new(int64(0))})
	f.Fuzz(func(t *testing.T, key string, value []byte) {
		comesBackParsed(t, page.Row{Key: key, Value: value}, DecodeWait, EncodeWait, waitKind.Parse)
	})
}

func FuzzOp(f *testing.F) {
	add := func(o Op) { row := EncodeOp(o); f.Add(row.Key, row.Value) }
	add(Op{Number: 1, Kind: OpFork, UndoneBy: 2})
	add(Op{
		Number: 2, Kind: OpTravel, AtMs: 1, Before: objstore.SHA1.ID(objstore.Blob, nil), Frame: new(int64(4)), To: new(int64(1)),
		NodeID: "a", Iteration: 1, Attempt: 2, NoDeps: true, Files: true, Worktree: "w",
	})
	add(Op{Number: 3, Kind: OpUndo, Before: objstore.SHA1.ID(objstore.Blob, nil), Undoes: 2})
	f.Fuzz(func(t *testing.T, key string, value []byte) {
		comesBackParsed(t, page.Row{Key: key, Value: value}, DecodeOp, EncodeOp, opKind.Parse)
	})
}

func FuzzSpelling(f *testing.F) {
	f.Add("a b/é%")
	f.Add("a\xff%41")
	f.Fuzz(func(t *testing.T, s string) {
		for _, plain := range []func(byte) bool{plainRun, plainTable} {
			back, ok := unescape(escape(s, plain), plain)
			require.True(t, ok)
			require.Equal(t, s, back)
			if text, ok := unescape(s, plain); ok {
				require.Equal(t, s, escape(text, plain))
			} else {
				require.Empty(t, text)
			}
		}
		path, ok := UnescapePath(EscapePath(s))
		require.True(t, ok)
		require.Equal(t, s, path)
		if path, ok := UnescapePath(s); ok {
			require.Equal(t, s, EscapePath(path))
		}
		once := cleanSubject(s)
		require.Equal(t, once, cleanSubject(once))
		require.LessOrEqual(t, len(once), maxSubject)
	})
}

func FuzzWhole(f *testing.F) {
	f.Add([]byte(`{"nodes":[{"nodeId":"a","state":"pending"}],"outputs":[{"table":"t","nodeId":"a","value": 1.0 }],"loops":[{"ralphId":"l"}],"input":{}}`))
	f.Add([]byte(`{"approvals":[{"nodeId":"a","attempt":1,"status":"requested"}],"waits":[],"signals":[{"name":"s","payload": [] }],` +
		`"humanRequests":[{"nodeId":"a","attempt":1,"kind":"ask","status":"pending","form": {} }]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		whole, err := ParseWhole(Limits{}, data)
		if err != nil {
			require.Equal(t, Whole{}, whole)
			require.ErrorIs(t, err, ErrInvalid)
			return
		}
		changes, err := ChangesTo(EmptyState(), whole)
		require.NoError(t, err)
		state, err := EmptyState().Edit(new(objstoretest.Memory), changes)
		if err != nil {
			require.ErrorIs(t, err, ErrInvalid)
			return
		}
		dump, err := DumpState(state)
		require.NoError(t, err)
		again, err := ParseWhole(Limits{}, dump)
		require.NoError(t, err)
		none, err := ChangesTo(state, again)
		require.NoError(t, err)
		require.Empty(t, none)
	})
}
