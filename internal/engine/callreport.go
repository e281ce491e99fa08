package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/internal/snapshot/row"
	"github.com/git-smithers/git-smithers/snapshot"
)

// callsVariable names the file to which a command appends a line of JSON for each tool call. docs/workflow-reference.md describes
// the lines.
const callsVariable = "SMITHERS_TOOL_CALLS"

// Bounds of the report of one attempt.
const (
	maxCalls     = 10_000   // calls; the others are not kept
	maxCallLine  = 1 << 20  // bytes of a line
	maxCallValue = 64 << 10 // bytes of an input, an output or an error; of a larger one, the beginning is kept
	maxCallBytes = 16 << 20 // bytes of all inputs, outputs and errors; afterwards, beginnings alone are kept
	maxUndo      = 4 << 10  // bytes of the command that undoes an effect
	maxCallFile  = 1 << 28  // bytes of the file; the others are not read
	callStart    = 1 << 10  // bytes of such a beginning
)

// callPoll is the interval at which the file is read.
const callPoll = 100 * time.Millisecond

// callReport is the tool calls that one attempt reports. It is safe for concurrent use.
type callReport struct {
	now  func() time.Time
	of   snapshot.Attempt
	file io.ReadCloser

	mu      sync.Mutex
	rest    []byte // of the file's unfinished line
	long    bool   // the unfinished line is too long, and its beginning was dropped
	line    int    // the number of the last whole line
	total   int64  // bytes that were read
	calls   []*snapshot.ToolCall
	byID    map[string]*snapshot.ToolCall
	bytes   int          // of all inputs, outputs and errors
	changed map[int]bool // indexes of the calls that take has not returned yet
	refused int          // lines that report no call
	why     error        // the first refusal
}

// newCallReport returns the report in the file at path.
func newCallReport(path string, of snapshot.Attempt, now func() time.Time) (*callReport, error) {
	// A command may have put something else in its place, such as a pipe that nobody writes to.
	if info, err := os.Lstat(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("the file of tool calls is no file any more: %s", info.Mode())
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &callReport{now: now, of: of, file: file, byID: make(map[string]*snapshot.ToolCall), changed: make(map[int]bool)}, nil
}

// begin starts to read the file, as long as the attempt's command runs. The caller calls end after the command: it reads the rest,
// and returns what could not be read. Without a report, begin and end do nothing.
func (c *callReport) begin() (end func() error) {
	if c == nil {
		return func() error { return nil }
	}
	ended := make(chan struct{})
	var reading sync.WaitGroup
	reading.Go(func() { c.follow(ended) })
	return func() error {
		close(ended)
		reading.Wait()
		return errors.Join(c.finish(), c.flaw())
	}
}

// follow reads the file until ended is closed.
func (c *callReport) follow(ended <-chan struct{}) {
	ticker := time.NewTicker(callPoll)
	defer ticker.Stop()
	for {
		select {
		case <-ended:
			return
		case <-ticker.C:
			c.read()
		}
	}
}

// finish reads the rest of the file, also a last line without a line feed, and closes the file.
func (c *callReport) finish() error {
	c.read()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.rest) > 0 || c.long {
		c.takeLine(c.rest)
	}
	return c.file.Close()
}

// read takes in what was written to the file since the last time.
func (c *callReport) read() {
	c.mu.Lock()
	defer c.mu.Unlock()
	buf := make([]byte, 4<<10)
	for c.total < maxCallFile {
		n, err := c.file.Read(buf)
		if c.total += int64(n); c.total >= maxCallFile {
			c.rest, c.long = nil, false // the rest of the line is not read
			c.refuse(fmt.Errorf("the file has more than %d bytes", maxCallFile))
			return
		}
		for data := buf[:n]; len(data) > 0; {
			line, after, whole := bytes.Cut(data, []byte("\n"))
			if data = after; len(c.rest)+len(line) > maxCallLine {
				c.rest, c.long = nil, true
			} else if !c.long {
				c.rest = append(c.rest, line...)
			}
			if whole {
				c.takeLine(c.rest)
				c.rest, c.long = c.rest[:0], false
			}
		}
		if n == 0 || err != nil { // the end, for now; what cannot be read is not there
			return
		}
	}
}

// takeLine takes in a line. A line that reports no call is counted.
func (c *callReport) takeLine(line []byte) {
	c.line++
	if !c.long && len(bytes.TrimSpace(line)) == 0 {
		return
	}
	if err := c.takeCall(line); err != nil {
		c.refuse(fmt.Errorf("line %d: %w", c.line, err))
	}
}

// refuse counts a line that reports no call.
func (c *callReport) refuse(why error) {
	if c.refused++; c.why == nil {
		c.why = why
	}
}

// callLine is a line of the file.
type callLine struct {
	ID             string          `json:"id"`
	Tool           string          `json:"tool"`
	Status         string          `json:"status"`
	Input          json.RawMessage `json:"input"`
	Output         json.RawMessage `json:"output"`
	Error          json.RawMessage `json:"error"`
	StartedAtMs    *int64          `json:"startedAtMs"`
	FinishedAtMs   *int64          `json:"finishedAtMs"`
	DurationMs     *int64          `json:"durationMs"`
	SideEffect     *bool           `json:"sideEffect"`
	Effect         *bool           `json:"effect"` // the same, shorter
	Undo           string          `json:"undo"`   // the command that undoes the effect
	Idempotent     *bool           `json:"idempotent"`
	IdempotencyKey string          `json:"idempotencyKey"`
}

// callStarted is the status of a line about a call that has begun and not ended.
const callStarted = "started"

// takeCall takes in the call that a line reports.
func (c *callReport) takeCall(line []byte) error {
	if c.long {
		return fmt.Errorf("longer than %d bytes", maxCallLine)
	}
	l, err := parseCallLine(line)
	if err != nil {
		return err
	}
	call, index, err := c.find(l)
	if err != nil {
		return err
	}
	next := *call
	c.fill(&next, l)
	// What is refused here would be refused with the frame that has the attempt's end.
	if _, err := snapshot.DecodeToolCall(snapshot.EncodeToolCall(next)); err != nil {
		return err
	}
	*call = next
	if index == len(c.calls) {
		c.calls = append(c.calls, call)
	}
	if l.ID != "" {
		c.byID[l.ID] = call
	}
	c.changed[index] = true
	return nil
}

// parseCallLine parses a line.
func parseCallLine(line []byte) (l callLine, err error) {
	if !utf8.Valid(line) {
		return l, errors.New("not UTF-8")
	}
	if !jsontext.Valid(line) {
		return l, errors.New("not one JSON value")
	}
	strict := json.NewDecoder(bytes.NewReader(line))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&l); err != nil {
		return l, plainJSONError(err)
	}
	switch l.Status {
	case "", callStarted, snapshot.ToolCallSucceeded, snapshot.ToolCallFailed, snapshot.ToolCallUnknown:
	default:
		return l, fmt.Errorf("status %q is not %s, %s, %s or %s", plain.Cut(l.Status, 40), callStarted,
			snapshot.ToolCallSucceeded, snapshot.ToolCallFailed, snapshot.ToolCallUnknown)
	}
	for name, value := range map[string]*int64{"startedAtMs": l.StartedAtMs, "finishedAtMs": l.FinishedAtMs, "durationMs": l.DurationMs} {
		if value != nil && (*value < 0 || *value > row.MaxInteger/2) {
			return l, fmt.Errorf("%s %d is out of range", name, *value)
		}
	}
	return l, nil
}

// plainJSONError returns an error of encoding/json in words about a line.
func plainJSONError(err error) error {
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if kind.Field == "" {
			return errors.New("not a JSON object")
		}
		return fmt.Errorf("member %q cannot be a %s", kind.Field, kind.Value)
	}
	return errors.New(plain.Cut(string(bytes.TrimPrefix([]byte(err.Error()), []byte("json: "))), 200))
}

// find returns the call that a line is about, and its index: one that has begun, or a new one.
func (c *callReport) find(l callLine) (*snapshot.ToolCall, int, error) {
	if call := c.byID[l.ID]; call != nil {
		if call.Status != snapshot.ToolCallIntended {
			return nil, 0, fmt.Errorf("call %q has ended before", plain.Cut(l.ID, 40))
		}
		return call, call.Seq - 1, nil
	}
	switch {
	case l.Tool == "":
		return nil, 0, errors.New("no tool")
	case len(c.calls) == maxCalls:
		return nil, 0, fmt.Errorf("more than %d calls", maxCalls)
	}
	return &snapshot.ToolCall{
		NodeID: c.of.NodeID, Iteration: c.of.Iteration, Attempt: c.of.Attempt, Seq: len(c.calls) + 1, Kind: snapshot.ToolCallTool,
		Status: snapshot.ToolCallIntended, CallToken: l.ID, ToolName: l.Tool,
	}, len(c.calls), nil
}

// fill sets what a line says of a call.
func (c *callReport) fill(call *snapshot.ToolCall, l callLine) {
	now := c.now().UnixMilli()
	begun := call.StartedAtMs != 0
	switch {
	case l.StartedAtMs != nil:
		call.StartedAtMs = *l.StartedAtMs
	case !begun && l.FinishedAtMs != nil:
		call.StartedAtMs = *l.FinishedAtMs
	case !begun:
		call.StartedAtMs = now
	}
	if l.Input != nil {
		call.Input = c.bounded(l.Input)
	}
	if l.Output != nil {
		call.Output = c.bounded(l.Output)
	}
	if l.Error != nil {
		call.Error = c.bounded(l.Error)
	}
	for _, member := range []struct{ from, to **bool }{{&l.SideEffect, &call.SideEffect}, {&l.Effect, &call.SideEffect}, {&l.Idempotent, &call.Idempotent}} {
		if *member.from != nil {
			*member.to = *member.from
		}
	}
	if l.IdempotencyKey != "" {
		call.IdempotencyKey = l.IdempotencyKey
	}
	if l.Undo != "" { // who can undo an effect has one
		call.Revert, call.HasRevert, call.SideEffect = plain.Cut(l.Undo, maxUndo), new(true), new(true)
	}
	switch {
	case l.Status == callStarted:
		return
	case l.Status != "":
		call.Status = l.Status
	case l.Error != nil:
		call.Status = snapshot.ToolCallFailed
	case l.Output != nil, begun, l.FinishedAtMs != nil, l.DurationMs != nil:
		call.Status = snapshot.ToolCallSucceeded
	default:
		return // a tool and perhaps an input: the call has begun
	}
	finished := max(now, call.StartedAtMs)
	switch {
	case l.FinishedAtMs != nil:
		finished = *l.FinishedAtMs
	case l.DurationMs != nil && (begun || l.StartedAtMs != nil):
		finished = call.StartedAtMs + *l.DurationMs
	case l.DurationMs != nil:
		call.StartedAtMs = now - *l.DurationMs
	}
	call.FinishedAtMs = &finished
}

// bounded returns a value as it is stored: a large one as an object with its beginning.
func (c *callReport) bounded(value json.RawMessage) json.RawMessage {
	if len(value) <= maxCallValue && c.bytes+len(value) <= maxCallBytes {
		c.bytes += len(value)
		return bytes.Clone(value)
	}
	cut, _ := jsontext.Encode(struct { // a text and a number encode always
		Truncated bool   `json:"truncated"`
		Bytes     int    `json:"bytes"`
		Start     string `json:"start"`
	}{true, len(value), plain.Cut(string(value), callStart)})
	return cut
}

// take returns the changes of the journal for the calls that began or ended since the last take. Without a report, take returns
// nil.
func (c *callReport) take() []snapshot.Change {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var changes []snapshot.Change
	for i, call := range c.calls {
		if c.changed[i] {
			changes = append(changes, snapshot.SetToolCall(*call))
		}
	}
	clear(c.changed)
	return changes
}

// flaw returns the warning about lines that report no call, or nil.
func (c *callReport) flaw() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refused == 0 {
		return nil
	}
	return fmt.Errorf("%s of its file of tool calls cannot be read; %w", plain.Count(c.refused, "line"), c.why)
}
