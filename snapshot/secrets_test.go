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
var anID = objstore.SHA1.ID(objstore.Commit, nil)

// redactor takes out aSecret, and records where.
type redactor struct {
	places []snapshot.Place
	found  int
	err    error
}

func (r *redactor) RedactJSON(at snapshot.Place, text []byte, stored func() ([]snapshot.Stored, error)) ([]byte, error) {
	var before []snapshot.Stored
	if stored != nil {
		var err error
		if before, err = stored(); err != nil {
			return nil, err
		}
	}
	var out []byte
	from, n := 0, 0
	for _, k := range append(keptOf(before), snapshot.Kept{Start: len(text), End: len(text)}) {
		part := bytes.ReplaceAll(text[from:k.Start], []byte("«"), []byte("««"))
		n += bytes.Count(part, []byte(aSecret))
		out = append(append(out, bytes.ReplaceAll(part, []byte(aSecret), []byte("«1»"))...), text[k.Start:k.End]...)
		from = k.End
	}
	if n == 0 {
		return out, nil
	}
	r.found += n
	r.places = append(r.places, at)
	return out, r.err
}

// keptOf returns the ranges that are stored text.
func keptOf(stored []snapshot.Stored) (kept []snapshot.Kept) {
	for _, one := range stored {
		kept = append(kept, one.Kept...)
	}
	return kept
}

func (r *redactor) RedactText(at snapshot.Place, text string) (string, error) {
	out, err := r.RedactJSON(at, []byte(text), nil)
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

// Whoever amends a row, or hands on a stored one, says so: then what is stored stays, and only the rest is looked through.
func TestAmendedAndRedactedRowsKeepWhatIsStored(t *testing.T) {
	t.Parallel()
	amended := func(c snapshot.Change) snapshot.Change { c.Amends = true; return c }
	redacted := func(c snapshot.Change) snapshot.Change { c.Redacted = true; return c }
	quoting := func(c snapshot.Change) snapshot.Change {
		for member, text := range map[string]string{"q": `"«1»"`, "r": `["«1»"]`} {
			c.Quotes = append(c.Quotes, snapshot.Quote{At: snapshot.Place{Collection: "approvals", Key: "a::0", Member: member}, Text: []byte(text)})
		}
		return c
	}
	failed := snapshot.Attempt{NodeID: "a", Attempt: 1, State: snapshot.AttemptFailed, StartedAtMs: someTime, FinishedAtMs: new(someTime), Error: "exit: «1»"}
	for name, c := range map[string]struct {
		before, change snapshot.Change
		want           string
	}{
		"a member more":           {output("t", "a", `{"p":"`+aSecret+`"}`), amended(output("t", "a", `{"a":"«1» `+aSecret+`","p":"«1»"}`)), `{"a":"««1» «1»","p":"«1»"}`},
		"a member changed":        {output("t", "a", `{"p":"`+aSecret+`","q":1}`), amended(output("t", "a", `{"p":"«1»","q":"«1»"}`)), `{"p":"«1»","q":"««1»"}`},
		"another name":            {output("t", "a", `{"p":"`+aSecret+`"}`), amended(output("t", "a", `{"q":"«1»"}`)), `{"q":"««1»"}`},
		"other white space":       {output("t", "a", `{"p":"`+aSecret+`"}`), amended(output("t", "a", `{ "p" : "«1»" , "q":"«1»" }`)), `{ "p" : "«1»" , "q":"««1»" }`},
		"no object":               {output("t", "a", `["`+aSecret+`"]`), amended(output("t", "a", `["«1»"]`)), `["«1»"]`},
		"a list that grew":        {output("t", "a", `["`+aSecret+`"]`), amended(output("t", "a", `["«1»",2]`)), `["««1»",2]`},
		"a row before":            {output("t", "b", `{"p":"`+aSecret+`"}`), amended(output("t", "a", `{"p":"«1»"}`)), `{"p":"««1»"}`},
		"an output that says not": {output("t", "a", `{"p":"`+aSecret+`"}`), output("t", "a", `{"p":"«1»"}`), `{"p":"««1»"}`},
		"a quote":                 {output("t", "b", `1`), quoting(output("t", "a", `["«1»"]`)), `["«1»"]`},
		"quotes as members":       {output("t", "b", `1`), quoting(output("t", "a", `{"r":["«1»"],"p":"«1»","q":"«1»"}`)), `{"r":["«1»"],"p":"««1»","q":"«1»"}`},
		"another than the quote":  {output("t", "b", `1`), quoting(output("t", "a", `{"q":"«1» `+aSecret+`"}`)), `{"q":"««1» «1»"}`},
		"the input":               {input(`{"p":"` + aSecret + `"}`), amended(input(`{"p":"«1»","q":"` + aSecret + `"}`)), `{"p":"«1»","q":"«1»"}`},
		"an output":               {output("t", "b", `1`), redacted(output("t", "a", `{"p":"«1»"}`)), `{"p":"«1»"}`},
		"a log":                   {output("t", "b", `1`), redacted(set("logs", snapshot.EncodeLog("a", 0, 1, "«1»"))), `"«1»"`},
		"an attempt":              {output("t", "b", `1`), redacted(set("attempts", snapshot.EncodeAttempt(failed))), `"error":"exit: «1»"`},
		"a transcript":            {output("t", "b", `1`), redacted(set("transcript", snapshot.EncodeTranscript("main", 7, linesOf(`{"a":"«1»"}`)))), `{"a":"«1»"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			draft := func(c snapshot.Change) snapshot.Draft {
				if c.Collection == "logs" || c.Collection == "attempts" || c.Collection == "transcript" {
					return snapshot.Draft{Redactor: new(redactor), Journal: []snapshot.Change{c}}
				}
				return snapshot.Draft{Redactor: new(redactor), Frame: &snapshot.FrameDraft{State: []snapshot.Change{c}}}
			}
			chain := start(t, snapshot.Draft{})
			chain.append(t, draft(c.before))
			chain.append(t, draft(c.change))
			var all strings.Builder
			for _, data := range chain.store.All() {
				all.Write(data)
			}
			assert.Contains(t, all.String(), c.want)
			assert.NotContains(t, all.String(), aSecret)
		})
	}
}

func TestTheErrorOfAnEarlierRowIsStoredAlready(t *testing.T) {
	t.Parallel()
	chain := start(t, snapshot.Draft{})
	setError := func(text string, earlier *snapshot.Run) snapshot.Run {
		entry := chain.append(t, snapshot.Draft{Redactor: new(redactor), Earlier: earlier, Run: func(r *snapshot.Run) { r.Error = text }})
		row, err := entry.RunRow()
		require.NoError(t, err)
		return row
	}
	failed := setError("is "+aSecret, nil)
	setError("", nil)
	assert.Equal(t, "is «1»", setError(failed.Error, &failed).Error)
	setError("", nil)
	assert.Equal(t, "is ««1»", setError(failed.Error, nil).Error, "somebody else says the same")
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
