package snapshot_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

const aSecret = "hunter2hunter2"

// anID is an id of a commit.
var anID = objstore.Hash(objstore.Commit, nil)

// redactor takes out aSecret, and records where.
type redactor struct {
	places []snapshot.Place
	found  int
	err    error
}

func (r *redactor) RedactJSON(at snapshot.Place, text []byte) ([]byte, error) {
	text = bytes.ReplaceAll(text, []byte("«"), []byte("««"))
	n := bytes.Count(text, []byte(aSecret))
	if n == 0 {
		return text, nil
	}
	r.found += n
	r.places = append(r.places, at)
	return bytes.ReplaceAll(text, []byte(aSecret), []byte("«1»")), r.err
}

func (r *redactor) RedactText(at snapshot.Place, text string) (string, error) {
	out, err := r.RedactJSON(at, []byte(text))
	return string(out), err
}

func (r *redactor) Highest() int { return min(r.found, 1) }

// quoted is a text as JSON.
func quoted(text string) json.RawMessage { return json.RawMessage(strconv.Quote(text)) }

// withSecrets has a draft for each text from outside that an entry can store. at is where a command gets the text back.
func withSecrets() map[string]struct {
	at    snapshot.Place
	draft snapshot.Draft
} {
	type one = struct {
		at    snapshot.Place
		draft snapshot.Draft
	}
	text, now, note := "is "+aSecret, someTime, "note "+aSecret
	state := func(changes ...snapshot.Change) snapshot.Draft {
		return snapshot.Draft{Frame: &snapshot.FrameDraft{State: changes}}
	}
	mailbox := func(c snapshot.Change) snapshot.Draft { return snapshot.Draft{Mailbox: []snapshot.Change{c}} }
	journal := func(c snapshot.Change) snapshot.Draft { return snapshot.Draft{Journal: []snapshot.Change{c}} }
	approval := snapshot.Approval{NodeID: "a", Attempt: 1, Status: snapshot.ApprovalApproved, Title: "t", RequestedAtMs: now, DecidedAtMs: &now}
	human := snapshot.HumanRequest{NodeID: "a", Attempt: 1, Kind: snapshot.HumanAsk, Status: snapshot.HumanPending, Prompt: "p", RequestedAtMs: now}
	call := snapshot.ToolCall{NodeID: "a", Attempt: 1, Seq: 1, ToolName: "sh", Status: snapshot.ToolCallSucceeded, StartedAtMs: now, FinishedAtMs: &now}
	key := snapshot.Key("a", 0)

	titled, summed, noted, decided := approval, approval, approval, approval
	titled.Title, summed.Summary, noted.Note, decided.DecidedBy = text, text, &note, &text
	asked, formed, answered := human, human, human
	asked.Prompt, formed.Form = text, json.RawMessage(`{"title":"`+text+`"}`)
	answered.Status, answered.AnsweredAtMs, answered.Response = snapshot.HumanAnswered, &now, quoted(text)
	signal := snapshot.Signal{Name: "go", Payload: json.RawMessage(`{"a":"` + text + `"}`), ReceivedAtMs: now}
	attempt := snapshot.Attempt{NodeID: "a", Attempt: 1, State: snapshot.AttemptFailed, StartedAtMs: now, FinishedAtMs: &now, Error: "exit: " + text}
	in, out := call, call
	in.Input, out.Output = quoted(text), quoted(text)

	cleanSignal := signal
	cleanSignal.Payload = json.RawMessage(`{"a":"is «1»"}`)
	return map[string]one{
		"the input":               {snapshot.Place{Collection: "input"}, state(input(`{"a":"` + text + `"}`))},
		"an output":               {snapshot.Place{Collection: "outputs/t", Key: key}, state(output("t", "a", `["`+text+`"]`))},
		"the label of a node":     {snapshot.Place{Collection: "nodes", Key: key, Member: "label"}, state(node(snapshot.Node{NodeID: "a", State: snapshot.NodePending, Label: &text}))},
		"the title of a request":  {snapshot.Place{Collection: "approvals", Key: key, Member: "title"}, mailbox(set("approvals", snapshot.EncodeApproval(titled)))},
		"a summary":               {snapshot.Place{Collection: "approvals", Key: key, Member: "summary"}, mailbox(set("approvals", snapshot.EncodeApproval(summed)))},
		"a note":                  {snapshot.Place{Collection: "approvals", Key: key, Member: "note"}, mailbox(set("approvals", snapshot.EncodeApproval(noted)))},
		"who decided":             {snapshot.Place{Collection: "approvals", Key: key, Member: "decidedBy"}, mailbox(set("approvals", snapshot.EncodeApproval(decided)))},
		"a prompt":                {snapshot.Place{Collection: "human-requests", Key: key, Member: "prompt"}, mailbox(set("human-requests", snapshot.EncodeHumanRequest(asked)))},
		"a form":                  {snapshot.Place{Collection: "human-requests", Key: key, Member: "form"}, mailbox(set("human-requests", snapshot.EncodeHumanRequest(formed)))},
		"an answer":               {snapshot.Place{Collection: "human-requests", Key: key, Member: "response"}, mailbox(set("human-requests", snapshot.EncodeHumanRequest(answered)))},
		"the payload of a signal": {snapshot.Place{Collection: "signals", Key: cleanSignal.Digest(), Member: "payload"}, mailbox(set("signals", snapshot.EncodeSignal(signal)))},
		"the error of an attempt": {snapshot.Place{Collection: "attempts", Key: snapshot.AttemptKey("a", 0, 1), Member: "error"}, journal(set("attempts", snapshot.EncodeAttempt(attempt)))},
		"a log":                   {snapshot.Place{Collection: "logs", Key: snapshot.AttemptKey("a", 0, 1)}, journal(set("logs", snapshot.EncodeLog("a", 0, 1, text)))},
		"the input of a call":     {snapshot.Place{Collection: "tool-calls", Key: snapshot.ToolCallKey("a", 0, 1, 1), Member: "input"}, journal(set("tool-calls", snapshot.EncodeToolCall(in)))},
		"the output of a call":    {snapshot.Place{Collection: "tool-calls", Key: snapshot.ToolCallKey("a", 0, 1, 1), Member: "output"}, journal(set("tool-calls", snapshot.EncodeToolCall(out)))},
		"a transcript":            {snapshot.Place{Collection: "transcript", Key: snapshot.TranscriptKey("main", 7)}, journal(set("transcript", snapshot.EncodeTranscript("main", 7, linesOf(`{"a":"`+text+`"}`))))},
		"an event":                {snapshot.Place{}, snapshot.Draft{Events: []snapshot.Event{{Type: "said", AtMs: now, Payload: json.RawMessage(`{"a":"` + text + `"}`)}}}},
		"the rendered tree":       {snapshot.Place{}, snapshot.Draft{Frame: &snapshot.FrameDraft{Rendered: json.RawMessage(`{"kind":"text","text":"` + text + `"}`)}}},
		"the subject":             {snapshot.Place{}, snapshot.Draft{Subject: text}},
		"the error of the run":    {snapshot.Place{}, snapshot.Draft{Run: func(r *snapshot.Run) { r.Error = text }}},
		"the label of a fork":     {snapshot.Place{}, snapshot.Draft{Run: func(r *snapshot.Run) { r.Parent = &snapshot.Parent{RunID: "p", Commit: anID, Label: text, AtMs: now} }}},
		"the description": {snapshot.Place{}, snapshot.Draft{Run: func(r *snapshot.Run) {
			r.Parent = &snapshot.Parent{RunID: "p", Commit: anID, Description: text, AtMs: now}
		}}},
	}
}

func TestNoTextFromOutsideIsStoredWithASecret(t *testing.T) {
	t.Parallel()
	for name, c := range withSecrets() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			chain, r := start(t, snapshot.Draft{}), new(redactor)
			c.draft.Redactor = r
			entry := chain.append(t, c.draft)
			for id, data := range chain.store.All() {
				assert.NotContains(t, string(data), aSecret, id)
			}
			assert.Contains(t, r.places, c.at)
			row, err := entry.RunRow()
			require.NoError(t, err)
			assert.Equal(t, 1, row.Secrets)

			bare := start(t, snapshot.Draft{})
			c.draft.Redactor = nil
			bare.append(t, c.draft)
			var all strings.Builder
			for _, data := range bare.store.All() {
				all.Write(data)
			}
			assert.Contains(t, all.String(), aSecret, "the test sees what is stored")
		})
	}
}

func TestARefusedSecretStoresNoEntry(t *testing.T) {
	t.Parallel()
	for name, c := range withSecrets() {
		chain, refused := start(t, snapshot.Draft{}), errors.New("refused")
		c.draft.Redactor, c.draft.AtMs = &redactor{err: refused}, someTime
		_, err := snapshot.Append(chain.store, chain.frames, chain.tip, c.draft)
		assert.ErrorIs(t, err, refused, name)
	}
}

func TestWhatIsStoredIsNotRedactedAgain(t *testing.T) {
	t.Parallel()
	now := someTime
	request := snapshot.HumanRequest{NodeID: "a", Attempt: 1, Kind: snapshot.HumanAsk, Status: snapshot.HumanPending, Prompt: aSecret, RequestedAtMs: now}
	chain := start(t, snapshot.Draft{})
	chain.append(t, snapshot.Draft{Mailbox: []snapshot.Change{set("human-requests", snapshot.EncodeHumanRequest(request))}, Redactor: new(redactor)})

	request.Prompt, request.Status, request.AnsweredAtMs, request.Response = "«1»", snapshot.HumanAnswered, &now, quoted("«1»")
	entry := chain.append(t, snapshot.Draft{Mailbox: []snapshot.Change{set("human-requests", snapshot.EncodeHumanRequest(request))}, Redactor: new(redactor)})
	state, err := entry.State()
	require.NoError(t, err)
	value, ok, err := state.HumanRequests().Get(snapshot.Key("a", 0))
	require.NoError(t, err)
	require.True(t, ok)
	assert.Contains(t, string(value), `"prompt":"«1»"`, "the placeholder that is stored stays")
	assert.Contains(t, string(value), `"response":"««1»"`, "but an answer that looks like it is escaped")
}

func TestIdsAreNotTakenForSecrets(t *testing.T) {
	t.Parallel()
	chain := start(t, snapshot.Draft{})
	entry := chain.append(t, snapshot.Draft{Redactor: new(redactor), Frame: &snapshot.FrameDraft{State: []snapshot.Change{
		node(snapshot.Node{NodeID: aSecret, State: snapshot.NodeFinished, OutputTable: aSecret, LastAttempt: new(1)}), output(aSecret, aSecret, `1`),
	}}})
	state, err := entry.State()
	require.NoError(t, err)
	assert.Equal(t, []string{aSecret}, state.Tables())
	_, ok, err := state.Nodes().Get(snapshot.Key(aSecret, 0))
	require.NoError(t, err)
	assert.True(t, ok)
}
