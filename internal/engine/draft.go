package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/cache"
	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// draft collects the changes of one frame. The events are in the order of the calls.
type draft struct {
	runID    string
	atMs     int64 // the frame's time, in Unix milliseconds
	state    []snapshot.Change
	journal  []snapshot.Change
	events   []snapshot.Event
	phrases  []phrase
	steps    []Step // for Progress
	edits    []func(*snapshot.Run)
	rendered json.RawMessage
	workflow *snapshot.Workflow // the new definition; nil if the run keeps its definition
	ended    []snapshot.Attempt // attempts that ended, still without pointers to their files
	starting map[string]bool    // the working copies in which attempts start that need to know their files
	results  []result           // of the frame's attempts, for the cache
	scorings []*scoring         // to begin when the frame is committed
	err      error              // the joined errors of the calls
}

// phrase is a part of the subject line: "analyze, lint started".
type phrase struct {
	names []string
	verb  string
}

// payload is the JSON of an event, without type and time. A zero field other than RunID is omitted.
type payload struct {
	RunID     string `json:"runId"`
	NodeID    string `json:"nodeId,omitempty"`
	Iteration *int   `json:"iteration,omitempty"`
	Attempt   int    `json:"attempt,omitempty"`
	Error     string `json:"error,omitempty"`
	Status    string `json:"status,omitempty"`

	Child string `json:"childRunId,omitempty"` // of NodeStarted: the called run

	// Of RunCancelled: who cancelled the run with a command, or that the process that ran the run was asked to end.
	By          string `json:"by,omitempty"`
	Interrupted bool   `json:"interrupted,omitempty"`

	// Of CacheHit and CacheMiss: the key of the result, the frame that has the result, and why it was not used.
	Key    cache.Key `json:"key,omitempty"`
	From   string    `json:"from,omitempty"`
	Reason string    `json:"reason,omitempty"`

	// Of ScorerStarted, ScorerFinished and ScorerFailed.
	ScorerID   string          `json:"scorerId,omitempty"`
	ScorerName string          `json:"scorerName,omitempty"`
	Score      json.RawMessage `json:"score,omitempty"`
}

// newDraft returns an empty draft of a frame of the run with the given id and time.
func newDraft(runID string, at time.Time) *draft {
	return &draft{runID: runID, atMs: at.UnixMilli()}
}

// said reports whether the draft has a phrase. A draft without a phrase is not worth a frame.
func (d *draft) said() bool { return len(d.phrases) > 0 }

// snapshot returns the draft as a frame, without the working copy and without the attempts in d.ended: runner.frame
// adds both. The error joins the errors of earlier calls.
func (d *draft) snapshot() (snapshot.Draft, error) {
	if d.err != nil {
		return snapshot.Draft{}, timeline.Explain(d.err)
	}
	return snapshot.Draft{
		Frame:   &snapshot.FrameDraft{State: d.state, Rendered: d.rendered},
		Journal: d.journal,
		Events:  d.events,
		Run: func(row *snapshot.Run) {
			for _, edit := range d.edits {
				edit(row)
			}
		},
		Workflow: d.workflow,
		Subject:  d.subject(),
		AtMs:     d.atMs,
	}, nil
}

// edit adds f to the functions that change the run's row, in order.
func (d *draft) edit(f func(*snapshot.Run)) { d.edits = append(d.edits, f) }

// say adds "name verb" to the subject line. If the previous phrase has the same verb, say adds the name to that
// phrase, so that one verb follows several names.
func (d *draft) say(name, verb string) {
	if n := len(d.phrases); n > 0 && d.phrases[n-1].verb == verb {
		d.phrases[n-1].names = append(d.phrases[n-1].names, name)
		return
	}
	d.sayAlone(name, verb)
}

// sayAlone adds "name verb" to the subject line as a phrase of its own.
func (d *draft) sayAlone(name, verb string) {
	d.phrases = append(d.phrases, phrase{[]string{name}, verb})
}

// step adds a Step to the progress report of the frame. task is the task's name in the report. The Step's What is the
// verb of the newest phrase, so the draft must have a phrase.
func (d *draft) step(task string, state snapshot.NodeState, startedAtMs, endedAtMs int64) {
	what := d.phrases[len(d.phrases)-1].verb
	d.steps = append(d.steps, Step{Task: task, State: state, What: what, StartedAtMs: startedAtMs, EndedAtMs: endedAtMs})
}

// subject returns the phrases as one line of any length: it is cut after its secrets were found. subject lists the first
// four names of a phrase and counts the others. It replaces each line break or other white space by one space.
func (d *draft) subject() string {
	parts := make([]string, len(d.phrases))
	for i, p := range d.phrases {
		const shown = 4
		names := strings.Join(p.names[:min(shown, len(p.names))], ", ")
		if more := len(p.names) - shown; more > 0 {
			names += " and " + strconv.Itoa(more) + " more"
		}
		parts[i] = names + " " + p.verb
	}
	return strings.Join(strings.Fields(strings.Join(parts, "; ")), " ")
}

// setNode sets the row of a node in the state of the frame.
func (d *draft) setNode(n snapshot.Node) {
	d.state = append(d.state, snapshot.SetNode(n))
}

// setLoop sets the row of a loop in the state of the frame.
func (d *draft) setLoop(l snapshot.Loop) {
	row := snapshot.EncodeLoop(l)
	d.state = append(d.state, snapshot.Change{Op: snapshot.OpSet, Collection: "loops", Key: row.Key, Value: row.Value})
}

// setOutput sets the output of a node in an output table of the state. key is the node's key, with the iteration. quotes are stored texts that
// value repeats.
func (d *draft) setOutput(table, key string, value json.RawMessage, quotes []snapshot.Quote) {
	d.state = append(d.state, snapshot.Change{Op: snapshot.OpSet, Collection: "outputs/" + table, Key: key, Value: value, Quotes: quotes})
}

// remove removes the row with the given key from a collection of the state. The row may be missing.
func (d *draft) remove(collection, key string) {
	d.state = append(d.state, snapshot.Change{Op: snapshot.OpRemove, Collection: collection, Key: key})
}

// attempt writes an attempt's row into the journal.
func (d *draft) attempt(a snapshot.Attempt) { d.journal = append(d.journal, attemptChange(a)) }

// attemptChange returns the change of the journal that writes an attempt's row.
func attemptChange(a snapshot.Attempt) snapshot.Change {
	row := snapshot.EncodeAttempt(a)
	return snapshot.Change{Op: snapshot.OpSet, Collection: "attempts", Key: row.Key, Value: row.Value}
}

// end records that an attempt has ended. runner.frame writes the attempt's row, with the pointer to its files.
func (d *draft) end(a snapshot.Attempt) { d.ended = append(d.ended, a) }

// log writes an attempt's log into the journal unless the log is empty.
func (d *draft) log(a snapshot.Attempt, text string) {
	if text == "" {
		return
	}
	row := snapshot.EncodeLog(a.NodeID, a.Iteration, a.Attempt, text)
	d.journal = append(d.journal, snapshot.Change{Op: snapshot.OpSet, Collection: "logs", Key: row.Key, Value: row.Value})
}

// logAsShown writes an attempt's log into the journal as people have seen it, without its secrets, unless the log is empty.
func (d *draft) logAsShown(a snapshot.Attempt, text string) {
	had := len(d.journal)
	d.log(a, text)
	for i := range d.journal[had:] {
		d.journal[had+i].Redacted = true
	}
}

// event adds an event of the given kind at the draft's current time. It sets p.RunID. If p cannot be encoded, event
// records the error in d.
func (d *draft) event(kind string, p payload) {
	p.RunID = d.runID
	text, err := jsontext.Encode(p)
	if err != nil {
		d.fail(fmt.Errorf("event %s: %w", kind, err))
		return
	}
	d.events = append(d.events, snapshot.Event{Type: kind, AtMs: d.atMs, Payload: text})
}

// render sets the rendered workflow tree of the frame to the tree of wf. done reports whether a loop, given by its
// id, has ended. If wf cannot be rendered, render records the error in d.
func (d *draft) render(wf *workflow.Workflow, done func(loop string) bool) {
	text, err := wf.Render(done)
	if err != nil {
		d.fail(err)
		return
	}
	d.rendered = text
}

// fail records an error, which snapshot returns.
func (d *draft) fail(err error) { d.err = errors.Join(d.err, err) }

// mail adds a mailbox event of the given kind at the draft's current time. If p cannot be encoded, mail records the
// error in d.
func (d *draft) mail(kind string, p mailbox.Event) {
	event, err := p.Encode(d.runID, kind, d.atMs)
	if err != nil {
		d.fail(err)
		return
	}
	d.events = append(d.events, event)
}

// setMail sets the row with the given key in a collection of the mailbox. value is the encoded row.
func (d *draft) setMail(collection, key string, value []byte) {
	d.state = append(d.state, mailbox.SetRow(collection, key, value))
}

// setWait sets the row of a wait for a signal or a timer.
func (d *draft) setWait(w snapshot.Wait) {
	encoded := snapshot.EncodeWait(w)
	d.setMail(snapshot.CollectionWaits, encoded.Key, encoded.Value)
}

// cancel records that a, an attempt that no process executes, is cancelled: it writes the attempt's row and adds the
// event. why is the text of the reason.
func (d *draft) cancel(a snapshot.Attempt, why string) {
	told := reason{reasonCancelled, why}
	a.State, a.Error, a.FinishedAtMs = snapshot.AttemptCancelled, told.String(), &d.atMs
	d.attempt(a)
	d.event("NodeCancelled", payload{NodeID: a.NodeID, Iteration: &a.Iteration, Attempt: a.Attempt})
}

// begin records that the run is running. It sets the run's status and its workflow's name, workflow. It clears the
// error, the time of the end, and the mark of an undone fork. row is the run's row at the tip. On the first start,
// begin also sets the time of the start and adds the event RunStarted.
func (d *draft) begin(row snapshot.Run, workflow, traceParent string) {
	started := d.atMs
	if row.StartedAtMs == nil {
		d.event("RunStarted", payload{})
	}
	d.event("RunStatusChanged", payload{Status: string(snapshot.RunRunning)})
	d.edit(func(row *snapshot.Run) {
		row.Status, row.Error, row.FinishedAtMs = snapshot.RunRunning, "", nil
		row.Workflow = workflow
		if row.StartedAtMs == nil {
			row.StartedAtMs = &started
		}
		if row.TraceParent == "" {
			row.TraceParent = traceParent
		}
		if row.Parent != nil { // a fork may have been undone and then resumed
			row.Parent.Undone = false
		}
	})
}
