package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// turnNode is the id of the node whose iterations are the turns of a session.
const turnNode = "turn"

// TurnID returns the id of the frame of a turn's prompt.
func TurnID(turn int) string { return fmt.Sprintf("turn:%d", turn) }

// TurnAttempt returns the name of the only attempt of a turn's node.
func TurnAttempt(turn int) files.AttemptName {
	return files.AttemptName{Node: turnNode, Iteration: turn, Attempt: 1}
}

// IsTurnID reports whether TurnID returns the id for a turn.
func IsTurnID(id string) bool { return strings.HasPrefix(id, "turn:") }

// The output tables of a session. Each has a row for each turn.
const (
	promptsTable = "prompts"
	usageTable   = "usage"
	todosTable   = "todos"
)

// The table of the moments that people have kept under a label, and the id in the keys of its rows.
const (
	checkpointsTable = "checkpoints"
	checkpointNode   = "checkpoint"
)

// longestSubject is the number of bytes of a text that a subject is made of. It is far more than what is left of them after their secrets were taken out, so
// that no secret is cut.
const longestSubject = 64 << 10

// drafter drafts the frame for an event.
type drafter struct {
	head       *timeline.Head      // nil for a new run
	transcript timeline.Transcript // what is stored of the conversation
	mem        *memory             // edited in place
	speaks     *dialect.Dialect
	ev         dialect.Event
	files      *snapshot.VCS // the captured files; nil without files
	atMs       int64
	more       bool        // the event was recorded, and lines were left for this frame
	warn       func(error) // receives what does not harm the frame
	store      *timeline.Store

	out     snapshot.Draft
	calls   map[string]snapshot.ToolCall // the changed rows, by key
	missed  []dialect.Call               // calls of new lines that have ended, and that no hook has told of
	todos   json.RawMessage              // the list of todos that a new line sets; nil if none does
	row     map[string]string            // of the newest turn in the table of prompts, if new lines change it
	reveals bool                         // row has secrets, where it otherwise has what is stored
	read    int64                        // the bytes of transcripts that were read
	notices []string                     // what the agent's program said in the model's name in new lines
	words   string                       // the last words of the model, or of the agent's program in its name, in new lines; "" if a call follows
	changed bool                         // the draft has something that the newest entry does not have, besides files
}

// draft returns the draft of the frame for the event, without files.
func (d *drafter) draft() (snapshot.Draft, error) {
	d.out = snapshot.Draft{Frame: new(snapshot.FrameDraft), AtMs: d.atMs}
	d.calls = make(map[string]snapshot.ToolCall)
	// The new lines belong to the turn that is open before the event.
	for _, step := range []func() error{d.takeTranscripts, d.takeEvent, d.setRow} {
		if err := step(); err != nil {
			return d.out, err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(d.calls)) {
		d.out.Journal = append(d.out.Journal, snapshot.SetToolCall(d.calls[key]))
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

// takeEvent takes in what the event itself says.
func (d *drafter) takeEvent() error {
	if d.ev.Kind != dialect.Started && d.ev.Kind != dialect.Ended {
		d.status(snapshot.RunRunning)
	}
	switch d.ev.Kind {
	case dialect.Started: // a turn is open only if the agent was killed
		d.out.Subject = "session resumed"
		d.status(snapshot.RunRunning)
		state := snapshot.NodeFailed
		if d.mem.Cut {
			state = snapshot.NodeCancelled
		}
		_, err := d.endTurn(state)
		return err
	case dialect.Prompted:
		return d.takePrompt()
	case dialect.Calling:
		d.out.Subject = "before " + toolNames(d.ev.Calls)
		d.takeMissed()
	case dialect.Called:
		if err := d.takeCalls(); err != nil {
			return err
		}
		d.takeMissed()
	case dialect.Delegated:
		d.out.Subject = "subagent"
	case dialect.Compacting:
		d.out.Subject = "before the conversation is compacted"
	case dialect.Answered:
		if err := d.takeAnswer(); err != nil {
			return err
		}
		d.takeMissed()
	case dialect.Ended:
		d.changed = true
		d.out.Subject = "session ended"
		if d.more {
			d.out.Subject = "more of the conversation"
		}
		d.status(snapshot.RunFinished)
		_, err := d.endTurn(snapshot.NodeCancelled)
		return err
	case dialect.Labelled:
		return d.takeLabel()
	case dialect.Ignored:
	}
	return nil
}

// status sets the status of the run, if it is another. A course starts here: no undo takes a fork back that has run.
func (d *drafter) status(status snapshot.RunStatus) {
	at := d.atMs
	d.out.Run = func(row *snapshot.Run) {
		if row.StartedAtMs == nil {
			row.StartedAtMs = &at
		}
		if row.Status == status {
			return
		}
		row.Status, row.FinishedAtMs = status, nil
		if status.Ended() {
			row.FinishedAtMs = &at
		}
	}
}

// takePrompt begins a turn.
func (d *drafter) takePrompt() error {
	if _, err := d.endTurn(snapshot.NodeCancelled); err != nil { // the user has interrupted it
		return err
	}
	if err := d.setRow(); err != nil {
		return err
	}
	d.changed, d.mem.Cut, d.mem.Failed = true, false, false
	d.mem.beginTurn()
	d.node(snapshot.NodeInProgress)
	d.attempt(snapshot.Attempt{State: snapshot.AttemptInProgress, StartedAtMs: d.atMs})
	d.out.Frame.IDs = []string{TurnID(d.mem.Turn)}
	d.out.Subject = fmt.Sprintf("turn %d: %s", d.mem.Turn, plain.Cut(d.ev.Prompt, longestSubject))
	return d.output(promptsTable, map[string]string{"prompt": strings.ToValidUTF8(d.ev.Prompt, "\uFFFD")})
}

// takeAnswer ends the turn. If no turn is open, the agent has only heard of a subagent.
func (d *drafter) takeAnswer() error {
	d.out.Subject = fmt.Sprintf("turn %d finished", d.mem.Turn)
	d.ev.Answer = cmp.Or(d.ev.Answer, d.words)
	notice := d.ev.Failed || slices.Contains(d.notices, d.ev.Answer)
	if d.mem.Failed = d.ev.Failed || d.mem.Failed && (notice || d.ev.Answer == ""); d.mem.Failed {
		d.out.Subject = fmt.Sprintf("turn %d failed: %s", d.mem.Turn, plain.Cut(d.ev.Answer, longestSubject))
	}
	ended, err := d.endTurn(snapshot.NodeFinished)
	if err != nil || !ended || d.ev.Answer == "" || notice {
		return err
	}
	if err := d.readRow(false); err != nil || d.row == nil {
		return err
	}
	d.row["answer"] = strings.ToValidUTF8(d.ev.Answer, "\uFFFD")
	return nil
}

// takeLabel keeps this moment under a label. A session that has ended stays so.
func (d *drafter) takeLabel() error {
	d.out.Run, d.changed = nil, true
	d.mem.Checkpoints++
	d.addID(fmt.Sprintf("checkpoint:%d", d.mem.Checkpoints))
	d.out.Subject = "checkpoint"
	row := map[string]any{"turn": d.mem.Turn}
	if d.ev.Label != "" {
		row["label"] = strings.ToValidUTF8(d.ev.Label, "\uFFFD")
		d.out.Subject = "checkpoint: " + d.ev.Label
	}
	data, err := json.Marshal(row)
	d.out.Frame.State = append(d.out.Frame.State, snapshot.SetOutput(checkpointsTable, checkpointNode, d.mem.Checkpoints, data))
	return err
}

// turnIsOpen reports whether the newest turn has not ended.
func (d *drafter) turnIsOpen() (bool, error) {
	if d.mem.Turn == 0 || d.head == nil {
		return false, nil
	}
	node, found, err := rowOf(d.head.State().Nodes(), snapshot.Key(turnNode, d.mem.Turn), snapshot.DecodeNode)
	return found && node.State == snapshot.NodeInProgress, err
}

// endTurn ends the newest turn with the state, or as failed if the model could not be asked. It reports whether it did: a turn that has ended stays as it is.
func (d *drafter) endTurn(state snapshot.NodeState) (ended bool, err error) {
	open, err := d.turnIsOpen()
	if err != nil || !open {
		return false, err
	}
	attempt, found, err := d.head.Entry().Attempt(turnNode, d.mem.Turn, 1)
	if err != nil {
		return false, timeline.Explain(err)
	}
	if !found {
		attempt.StartedAtMs = d.atMs
	}
	if d.mem.Failed {
		state = snapshot.NodeFailed
	}
	attempt.State, attempt.FinishedAtMs = string(state), &d.atMs
	if d.files != nil && !d.files.Tree.IsZero() {
		frame := d.head.Row().Frame + 1
		attempt.CommitID, attempt.Tree, attempt.Frame = d.files.CommitID, d.files.Tree, &frame
	}
	d.changed = true
	d.node(state)
	d.attempt(attempt)
	return true, nil
}

// rowOf returns the row of a collection with the key, or false if there is no such row.
func rowOf[T any](rows *page.Collection, key string, decode func(page.Row) (T, error)) (row T, found bool, err error) {
	value, found, err := rows.Get(key)
	if err == nil && found {
		row, err = decode(page.Row{Key: key, Value: value})
	}
	return row, found, timeline.Explain(err)
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
