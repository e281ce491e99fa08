package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// turnNode is the id of the node whose iterations are the turns of a session.
const turnNode = "turn"

// The output tables of a session. Each has a row for each turn.
const (
	promptsTable = "prompts"
	usageTable   = "usage"
	todosTable   = "todos"
)

// drafter drafts the frame for an event.
type drafter struct {
	head  *timeline.Head // nil for a new run
	mem   *memory        // edited in place
	ev    Event
	files *snapshot.VCS // the captured files; nil without files
	atMs  int64

	out    snapshot.Draft
	calls  map[string]snapshot.ToolCall // the changed rows, by key
	todos  json.RawMessage
	news   bool // the conversation has new lines, or the event names new calls
	silent bool // the event changes nothing
}

// draft returns the draft of the frame for the event, without files.
func (d *drafter) draft() (snapshot.Draft, error) {
	d.out = snapshot.Draft{Frame: new(snapshot.FrameDraft), AtMs: d.atMs}
	d.calls = make(map[string]snapshot.ToolCall)
	before := d.mem.Usage
	if err := d.takeTranscripts(); err != nil {
		return d.out, err
	}
	if err := d.takeEvent(); err != nil {
		return d.out, err
	}
	for _, call := range d.calls {
		d.out.Journal = append(d.out.Journal, snapshot.SetToolCall(call))
	}
	slices.SortFunc(d.out.Journal, func(a, b snapshot.Change) int { return strings.Compare(a.Collection+" "+a.Key, b.Collection+" "+b.Key) })
	if d.mem.Turn > 0 && d.mem.Usage != before && d.ev.Kind != Prompted {
		if err := d.output(usageTable, d.mem.Usage); err != nil {
			return d.out, err
		}
	}
	if d.mem.Turn > 0 && d.todos != nil {
		if err := d.output(todosTable, d.todos); err != nil {
			return d.out, err
		}
	}
	ext, err := d.mem.draft()
	d.out.Ext = ext
	return d.out, err
}

// output sets the row of the turn in an output table.
func (d *drafter) output(table string, value any) error {
	data, err := json.Marshal(value)
	d.out.Frame.State = append(d.out.Frame.State, snapshot.SetOutput(table, turnNode, d.mem.Turn, data))
	return err
}

// takeTranscripts takes in the new lines of the transcripts that the event names.
func (d *drafter) takeTranscripts() error {
	for _, from := range []struct{ name, path string }{{d.mem.session(), d.ev.Transcript}, {d.ev.Subagent, d.ev.SubagentTranscript}} {
		if from.path == "" || from.name == "" {
			continue
		}
		lines, next, err := readLines(from.path, d.mem.readOf(from.name), readClaude)
		if errors.Is(err, errRewritten) {
			continue // what is stored stays, and what follows is not known to follow
		}
		if err != nil {
			return err
		}
		d.mem.setRead(from.name, next)
		for _, row := range transcriptRows(from.name, lines) {
			d.out.Journal = append(d.out.Journal, snapshot.SetRow(snapshot.CollectionTranscript, row))
			d.news = true
		}
		for _, l := range lines {
			if err := d.takeLine(from.name, l); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeLine takes in what a line of a transcript says of tool calls, tokens and todos.
func (d *drafter) takeLine(transcript string, l line) error {
	if l.atMs == 0 {
		l.atMs = d.atMs
	}
	at := &snapshot.TranscriptRange{Transcript: transcript, Offset: l.offset, Length: int64(len(l.text))}
	for _, begun := range l.begun {
		call, key, err := d.call(begun, l.atMs)
		if err != nil {
			return err
		}
		call.InputAt, call.StartedAtMs = at, l.atMs
		d.calls[key] = call
	}
	for _, ended := range l.ended {
		key, known := d.mem.Open[ended.id]
		if !known {
			continue // it began before the session was recorded
		}
		call, _, err := d.call(Call{ID: ended.id}, l.atMs)
		if err != nil {
			return err
		}
		call.Status, call.FinishedAtMs, call.OutputAt = snapshot.ToolCallSucceeded, &l.atMs, at
		if ended.failed {
			call.Status = snapshot.ToolCallFailed
		}
		d.calls[key] = call
		delete(d.mem.Open, ended.id)
	}
	if l.message != "" && l.message != d.mem.Message {
		d.mem.Message, d.mem.Usage = l.message, d.mem.Usage.add(l.usage)
	}
	if l.todos != nil {
		d.todos = l.todos
	}
	return nil
}

// call returns the row of a tool call with its key. A call that is not open begins now.
func (d *drafter) call(c Call, atMs int64) (snapshot.ToolCall, string, error) {
	key, known := d.mem.Open[c.ID]
	if !known {
		key = d.mem.open(c.ID)
	}
	if call, changed := d.calls[key]; changed {
		return call, key, nil
	}
	if known && d.head != nil {
		rows, err := d.head.Entry().ToolCalls()
		if err != nil {
			return snapshot.ToolCall{}, key, timeline.Explain(err)
		}
		value, found, err := rows.Get(key)
		if err != nil {
			return snapshot.ToolCall{}, key, timeline.Explain(err)
		}
		if found {
			call, err := snapshot.DecodeToolCall(page.Row{Key: key, Value: value})
			return call, key, timeline.Explain(err)
		}
	}
	node, iteration, attempt, seq, err := snapshot.SplitToolCallKey(key)
	return snapshot.ToolCall{
		NodeID: node, Iteration: iteration, Attempt: attempt, Seq: seq,
		ToolName: c.Tool, Kind: snapshot.ToolCallTool, Status: snapshot.ToolCallIntended, StartedAtMs: atMs, CallToken: c.ID,
	}, key, timeline.Explain(err)
}

// takeEvent takes in what the event itself says.
func (d *drafter) takeEvent() error {
	switch d.ev.Kind {
	case Ignored:
	case Started:
		d.takeStart()
	case Prompted:
		return d.takePrompt()
	case Called:
		return d.takeCalls()
	case Delegated:
		d.out.Subject = "subagent"
	case Compacting:
		d.out.Subject = "before the conversation is compacted"
	case Answered:
		return d.takeAnswer()
	case Ended:
		d.endTurn(snapshot.NodeCancelled)
		d.out.Subject = "session ended"
		d.status(snapshot.RunFinished)
	}
	if d.ev.Kind != Ended && d.ev.Kind != Started {
		d.status(snapshot.RunRunning)
	}
	return nil
}

// status sets the status of the run, if it is another.
func (d *drafter) status(status snapshot.RunStatus) {
	at := d.atMs
	d.out.Run = func(row *snapshot.Run) {
		if row.Status == status {
			return
		}
		row.Status, row.FinishedAtMs = status, nil
		if status.Ended() {
			row.FinishedAtMs = &at
		}
	}
}

// takeStart ends a turn that nothing has ended: the agent was killed. If there is no such turn, and the run goes on, the
// event changes nothing.
func (d *drafter) takeStart() {
	open := d.turnIsOpen()
	d.silent = !open
	d.endTurn(snapshot.NodeFailed)
	d.out.Subject = "session resumed"
	d.status(snapshot.RunRunning)
}

// takePrompt begins a turn.
func (d *drafter) takePrompt() error {
	d.endTurn(snapshot.NodeCancelled) // the user has interrupted it
	d.mem.Turn, d.mem.Calls, d.mem.Usage = d.mem.Turn+1, 0, usage{}
	d.node(snapshot.NodeInProgress)
	d.attempt(snapshot.Attempt{State: snapshot.AttemptInProgress, StartedAtMs: d.atMs})
	d.out.Frame.IDs = []string{fmt.Sprintf("turn:%d", d.mem.Turn)}
	d.out.Subject = fmt.Sprintf("turn %d: %s", d.mem.Turn, d.ev.Prompt)
	d.status(snapshot.RunRunning)
	return d.output(promptsTable, map[string]string{"prompt": strings.ToValidUTF8(d.ev.Prompt, "\uFFFD")})
}

// takeCalls takes in the calls of a batch. A call that the transcript does not have yet gets its row here.
func (d *drafter) takeCalls() error {
	var tools []string
	for _, c := range d.ev.Calls {
		if c.ID != "" && len(d.out.Frame.IDs) < snapshot.MaxIDs && len(c.ID) <= snapshot.MaxID {
			d.out.Frame.IDs = append(d.out.Frame.IDs, c.ID)
		}
		if len(tools) < 8 {
			tools = append(tools, c.Tool)
		}
		if c.ID == "" || c.Tool == "" || d.knows(c.ID) {
			continue
		}
		call, key, err := d.call(c, d.atMs)
		if err != nil {
			return err
		}
		d.calls[key], d.news = call, true
	}
	d.out.Subject = strings.Join(tools, ", ")
	d.status(snapshot.RunRunning)
	return nil
}

// knows reports whether the call with the agent's id is open, or was changed by this draft.
func (d *drafter) knows(id string) bool {
	if _, open := d.mem.Open[id]; open {
		return true
	}
	for _, call := range d.calls {
		if call.CallToken == id {
			return true
		}
	}
	return false
}

// takeAnswer ends the turn.
func (d *drafter) takeAnswer() error {
	d.silent = !d.turnIsOpen() // the agent has only heard of a subagent
	d.endTurn(snapshot.NodeFinished)
	d.out.Subject = fmt.Sprintf("turn %d finished", d.mem.Turn)
	if d.mem.Turn == 0 || d.ev.Answer == "" || d.head == nil {
		return nil
	}
	row := make(map[string]json.RawMessage)
	value, found, err := d.head.State().Outputs(promptsTable).Get(snapshot.Key(turnNode, d.mem.Turn))
	if err != nil {
		return timeline.Explain(err)
	}
	if !found {
		return nil
	}
	if err := json.Unmarshal(value, &row); err != nil {
		return fmt.Errorf("the prompt of the turn: %w", err)
	}
	answer, err := json.Marshal(strings.ToValidUTF8(d.ev.Answer, "\uFFFD"))
	if err != nil {
		return fmt.Errorf("the agent's answer: %w", err)
	}
	row["answer"] = answer
	return d.output(promptsTable, row)
}

// turnIsOpen reports whether the newest turn has not ended.
func (d *drafter) turnIsOpen() bool {
	if d.mem.Turn == 0 || d.head == nil {
		return false
	}
	key := snapshot.Key(turnNode, d.mem.Turn)
	value, found, err := d.head.State().Nodes().Get(key)
	if err != nil || !found {
		return false
	}
	node, err := snapshot.DecodeNode(page.Row{Key: key, Value: value})
	return err == nil && node.State == snapshot.NodeInProgress
}

// endTurn ends the newest turn with the state, if it has not ended.
func (d *drafter) endTurn(state snapshot.NodeState) {
	if !d.turnIsOpen() {
		return
	}
	d.node(state)
	attempt := snapshot.Attempt{NodeID: turnNode, Iteration: d.mem.Turn, Attempt: 1, StartedAtMs: d.atMs}
	if rows, err := d.head.Entry().Attempts(); err == nil {
		key := snapshot.AttemptKey(turnNode, d.mem.Turn, 1)
		if value, found, err := rows.Get(key); err == nil && found {
			if before, err := snapshot.DecodeAttempt(page.Row{Key: key, Value: value}); err == nil {
				attempt = before
			}
		}
	}
	attempt.State, attempt.FinishedAtMs = string(state), &d.atMs
	if d.files != nil && !d.files.Tree.IsZero() {
		frame := d.head.Row().Frame + 1
		attempt.CommitID, attempt.Tree, attempt.Frame = d.files.CommitID, d.files.Tree, &frame
	}
	d.attempt(attempt)
}

// node sets the state of the newest turn's node.
func (d *drafter) node(state snapshot.NodeState) {
	n := snapshot.NewNode(turnNode, state)
	n.Iteration, n.OutputTable = d.mem.Turn, promptsTable
	first := 1
	n.LastAttempt = &first
	d.out.Frame.State = append(d.out.Frame.State, snapshot.SetNode(n))
}

// attempt sets the row of the newest turn's only attempt.
func (d *drafter) attempt(a snapshot.Attempt) {
	a.NodeID, a.Iteration, a.Attempt = turnNode, d.mem.Turn, 1
	d.out.Journal = append(d.out.Journal, snapshot.SetRow(snapshot.CollectionAttempts, snapshot.EncodeAttempt(a)))
}
