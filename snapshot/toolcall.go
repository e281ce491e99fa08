package snapshot

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/snapshot/row"
)

// The statuses of a tool call.
const (
	ToolCallIntended  = "intended"  // the call was about to begin; a call that never ends keeps the status
	ToolCallSucceeded = "succeeded" // the call has returned its output
	ToolCallFailed    = "failed"    // the call has failed, without an effect
	ToolCallUnknown   = "unknown"   // the call has ended, but it is unknown whether the call had its effect
)

// The kinds of tool calls.
const (
	ToolCallTool = "tool" // a call of an agent
	ToolCallTask = "task" // a task with an effect outside the run
)

// The revert statuses of a tool call.
const (
	RevertReverting = "reverting"
	RevertReverted  = "reverted"
	RevertFailed    = "revert-failed"
	RevertStale     = "revert-stale"
)

// ToolCall is one call of a tool in an attempt. The key of its row in the journal's collection "tool-calls" is its
// ToolCallKey. An optional field is zero if the writer of the row left it out.
type ToolCall struct {
	NodeID    string `json:"nodeId"`
	Iteration int    `json:"iteration"`
	Attempt   int    `json:"attempt"` // 1, 2, 3, …
	Seq       int    `json:"seq"`     // the number of the call in the attempt, from 0

	ToolName     string `json:"toolName"` // not empty
	Kind         string `json:"kind,omitempty"`
	Status       string `json:"status"`
	StartedAtMs  int64  `json:"startedAtMs"`
	FinishedAtMs *int64 `json:"finishedAtMs,omitempty"` // nil while Status is intended
	CallToken    string `json:"callToken,omitempty"`    // the writer's own id of the call

	// Input and Output are any JSON value, byte for byte; JSON null is a value. Instead of Input, InputAt can name the
	// place of the value in a transcript. Instead of Output, OutputAt can do so.
	Input    json.RawMessage  `json:"input,omitempty"`
	InputAt  *TranscriptRange `json:"inputAt,omitempty"`
	Output   json.RawMessage  `json:"output,omitempty"`
	OutputAt *TranscriptRange `json:"outputAt,omitempty"`
	Error    json.RawMessage  `json:"error,omitempty"` // any JSON value, byte for byte

	SideEffect            *bool  `json:"sideEffect,omitempty"`            // the call has an effect outside the run
	Idempotent            *bool  `json:"idempotent,omitempty"`            // a repeated call does not repeat the effect
	AcceptsIdempotencyKey *bool  `json:"acceptsIdempotencyKey,omitempty"` // the tool takes IdempotencyKey
	IdempotencyKey        string `json:"idempotencyKey,omitempty"`
	HasRevert             *bool  `json:"hasRevert,omitempty"` // the tool can revert the effect of the call
	Revert                string `json:"revert,omitempty"`    // the command for sh that reverts the effect; "" if there is none

	RevertStatus string          `json:"revertStatus,omitempty"`
	RevertedAtMs *int64          `json:"revertedAtMs,omitempty"`
	RevertError  json.RawMessage `json:"revertError,omitempty"` // any JSON value, byte for byte
	ForcedPast   json.RawMessage `json:"forcedPast,omitempty"`  // the forced operations that went back past the call: any JSON value

	// Carried has the members of the row that this version does not know. They are written back with the row.
	Carried row.CarriedMembers `json:"-"`
}

// TranscriptRange is a range of bytes in a transcript.
type TranscriptRange struct {
	Transcript string `json:"transcript"` // the name of the transcript, not empty
	Offset     int64  `json:"offset"`
	Length     int64  `json:"length"`
}

// transcriptRangeFields declares the members of a range.
var transcriptRangeFields = []row.Field[TranscriptRange]{
	row.Int("length", func(t *TranscriptRange) *int64 { return &t.Length }),
	row.Int("offset", func(t *TranscriptRange) *int64 { return &t.Offset }),
	row.Text("transcript", func(t *TranscriptRange) *string { return &t.Transcript }),
}

// toolCallKind declares the rows of the collection "tool-calls".
var toolCallKind = row.Kind[ToolCall]{
	Name: "tool call",
	Key: row.Key[ToolCall]{
		Of: func(c *ToolCall) string { return ToolCallKey(c.NodeID, c.Iteration, c.Attempt, c.Seq) },
		Split: func(c *ToolCall, key string) (err error) {
			c.NodeID, c.Iteration, c.Attempt, c.Seq, err = SplitToolCallKey(key)
			return err
		},
		Fields: []row.Field[ToolCall]{
			row.Text("nodeId", func(c *ToolCall) *string { return &c.NodeID }),
			row.Int("iteration", func(c *ToolCall) *int { return &c.Iteration }),
			row.Int("attempt", func(c *ToolCall) *int { return &c.Attempt }),
			row.Int("seq", func(c *ToolCall) *int { return &c.Seq }),
		},
		Missing: func(*ToolCall) error {
			_, _, _, _, err := SplitToolCallKey("")
			return err
		},
	},
	Fields: []row.Field[ToolCall]{
		row.OptionalBool("acceptsIdempotencyKey", func(c *ToolCall) **bool { return &c.AcceptsIdempotencyKey }),
		row.OptionalText("callToken", func(c *ToolCall) *string { return &c.CallToken }),
		row.OptionalJSON("error", func(c *ToolCall) *json.RawMessage { return &c.Error }),
		row.OptionalInt("finishedAtMs", func(c *ToolCall) **int64 { return &c.FinishedAtMs }),
		row.OptionalJSON("forcedPast", func(c *ToolCall) *json.RawMessage { return &c.ForcedPast }),
		row.OptionalBool("hasRevert", func(c *ToolCall) **bool { return &c.HasRevert }),
		row.OptionalText("idempotencyKey", func(c *ToolCall) *string { return &c.IdempotencyKey }),
		row.OptionalBool("idempotent", func(c *ToolCall) **bool { return &c.Idempotent }),
		row.OptionalJSON("input", func(c *ToolCall) *json.RawMessage { return &c.Input }),
		row.Object("inputAt", func(c *ToolCall) **TranscriptRange { return &c.InputAt }, transcriptRangeFields),
		row.OptionalText("kind", func(c *ToolCall) *string { return &c.Kind }),
		row.OptionalJSON("output", func(c *ToolCall) *json.RawMessage { return &c.Output }),
		row.Object("outputAt", func(c *ToolCall) **TranscriptRange { return &c.OutputAt }, transcriptRangeFields),
		row.OptionalText("revert", func(c *ToolCall) *string { return &c.Revert }),
		row.OptionalJSON("revertError", func(c *ToolCall) *json.RawMessage { return &c.RevertError }),
		row.OptionalText("revertStatus", func(c *ToolCall) *string { return &c.RevertStatus }),
		row.OptionalInt("revertedAtMs", func(c *ToolCall) **int64 { return &c.RevertedAtMs }),
		row.OptionalBool("sideEffect", func(c *ToolCall) **bool { return &c.SideEffect }),
		row.Required(row.Int("startedAtMs", func(c *ToolCall) *int64 { return &c.StartedAtMs })),
		row.Text("status", func(c *ToolCall) *string { return &c.Status }),
		row.Text("toolName", func(c *ToolCall) *string { return &c.ToolName }),
	},
	Carried: func(c *ToolCall) *row.CarriedMembers { return &c.Carried },
	Check:   ToolCall.check,
	Valid:   checkRaw,
}

// ToolCallKey returns the key of the row of a tool call: "nodeId::iteration::attempt::seq".
func ToolCallKey(nodeID string, iteration, attempt, seq int) string {
	return AttemptKey(nodeID, iteration, attempt) + keySeparator + strconv.Itoa(seq)
}

// SplitToolCallKey returns the parts of a key that ToolCallKey returned. If ToolCallKey cannot have returned the
// key, the error wraps ErrInvalid.
func SplitToolCallKey(key string) (nodeID string, iteration, attempt, seq int, err error) {
	of, number, found := cutLast(key)
	seq, ok := parseOrdinal(number)
	if found && ok {
		nodeID, iteration, attempt, err = SplitAttemptKey(of)
	}
	if !found || !ok || err != nil {
		return "", 0, 0, 0, invalid("key %q: not nodeId::iteration::attempt::seq", key)
	}
	return nodeID, iteration, attempt, seq, nil
}

// SetToolCall returns the change of the journal that sets the row of a tool call.
func SetToolCall(c ToolCall) Change { return SetRow(CollectionToolCalls, EncodeToolCall(c)) }

// EncodeToolCall returns the row of a tool call, without checking the tool call.
func EncodeToolCall(c ToolCall) page.Row { return toolCallKind.Encode(c) }

// DecodeToolCall decodes the row of a tool call. If EncodeToolCall would not have written the row, or the tool call
// is invalid, the error wraps objstore.ErrCorrupt. Members that this version does not know are in Carried.
func DecodeToolCall(r page.Row) (ToolCall, error) { return toolCallKind.Decode(r) }

// ToolCalls returns the journal's collection of tool calls. DecodeToolCall decodes its rows.
func (e *Entry) ToolCalls() (*page.Collection, error) { return e.journalRows(CollectionToolCalls) }

// AllToolCalls yields the tool calls of the entry's journal in the order of their keys, and ends with the first
// error.
func (e *Entry) AllToolCalls() iter.Seq2[ToolCall, error] {
	return journalOf(e, CollectionToolCalls, DecodeToolCall)
}

// check returns an error if the tool call cannot be stored. Its statuses and its kind must be known. No required
// member may be missing, and the members must not contradict each other. Its times and transcript ranges must be in
// range, and its texts must be valid UTF-8.
func (c ToolCall) check() error {
	return cmp.Or(
		checkWord("status", c.Status, ToolCallIntended, ToolCallSucceeded, ToolCallFailed, ToolCallUnknown),
		checkWord("kind", c.Kind, "", ToolCallTool, ToolCallTask),
		checkWord("revertStatus", c.RevertStatus, "", RevertReverting, RevertReverted, RevertFailed, RevertStale),
		c.checkMeaning(),
		checkTimes(&c.StartedAtMs, c.FinishedAtMs, c.RevertedAtMs),
		checkTexts(&c.ToolName, &c.CallToken, &c.IdempotencyKey),
		c.InputAt.check("inputAt"), c.OutputAt.check("outputAt"),
	)
}

// checkMeaning returns an error if a required member is missing, or if members contradict each other.
func (c ToolCall) checkMeaning() error {
	switch {
	case c.ToolName == "":
		return errors.New("toolName: missing")
	case c.Status == ToolCallIntended && c.FinishedAtMs != nil:
		return errors.New("finishedAtMs: set, but the status is intended")
	case c.Input != nil && c.InputAt != nil:
		return errors.New("inputAt: set, but input is set, too")
	case c.Output != nil && c.OutputAt != nil:
		return errors.New("outputAt: set, but output is set, too")
	}
	return nil
}

// check returns an error if the range cannot be stored. name is the name of the member with the range, for the error. A
// nil range is valid.
func (t *TranscriptRange) check(name string) error {
	switch {
	case t == nil:
		return nil
	case t.Transcript == "":
		return fmt.Errorf("%s: transcript: missing", name)
	case t.Offset < 0 || t.Length < 0 || t.Offset > row.MaxInteger || t.Length > row.MaxInteger-t.Offset:
		return fmt.Errorf("%s: offset %d or length %d: out of range", name, t.Offset, t.Length)
	}
	return checkTexts(&t.Transcript)
}

// checkWord returns an error unless word, the value of the member called name, is in the list known. An empty word
// means that the member is missing, which is valid only if the list contains "". If the word is not in the list,
// checkWord may modify the list.
func checkWord(name, word string, known ...string) error {
	if slices.Contains(known, word) {
		return nil
	}
	if word == "" {
		return fmt.Errorf("%s: missing", name)
	}
	return fmt.Errorf("%s: unknown %s %q, expected %s", name, name, word, oneOf(slices.DeleteFunc(known, func(w string) bool { return w == "" })))
}
