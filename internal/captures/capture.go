// Package captures stores the captures of other engines. These engines send states or changes of states as JSON.
package captures

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// captureMemory is the number of a run's newest entries that a Capturer searches for the id of a capture.
const captureMemory = 1000

// Capture is one capture in the JSON format for other engines; docs/scripting.md describes the format. A
// Capture has either the whole State or the Changes of the state, but not both. A Capture without State,
// Changes and Frame appends an entry that is not a frame.
type Capture struct {
	ID      string            `json:"id"`     // identifies the capture if the engine sends it again; "" means no id
	Expect  json.RawMessage   `json:"expect"` // absent: any tip; null: the run must not exist; otherwise the tip's commit
	State   json.RawMessage   `json:"state"`
	Changes []snapshot.Change `json:"changes"`
	Events  []givenEvent      `json:"events"`
	Frame   json.RawMessage   `json:"frame"` // the rendered workflow tree
	VCS     *snapshot.VCS     `json:"vcs"`   // the revision without files
	// Worktree decides whether the capture includes the files of the working copy. If Worktree is nil, a capture
	// includes the files if it is the run's first entry or ends an attempt.
	Worktree *bool    `json:"worktree"`
	Run      *runEdit `json:"run"`
	Subject  string   `json:"subject"`
	IDs      []string `json:"ids"` // ids of the frame; only a capture that is a frame has ids
}

// runEdit has the members of the run's row that a capture may change. A nil member stays unchanged.
type runEdit struct {
	Workflow *string             `json:"workflowName"`
	Status   *snapshot.RunStatus `json:"status"`
	Error    *string             `json:"error"`
}

// givenEvent is an event in a Capture.
type givenEvent struct {
	Type    string          `json:"type"`
	AtMs    int64           `json:"timestampMs"` // in milliseconds since 1970; 0 means the time of the capture
	Payload json.RawMessage `json:"payload"`
}

// Answer describes the entry that stores a capture. The entry is on stable storage. ID is the id of the
// capture. Frame is nil if the entry is not a frame.
type Answer struct {
	ID          string `json:"id,omitempty"`
	Frame       *int64 `json:"frame"`
	Commit      string `json:"commit"`
	ContentHash string `json:"contentHash"`
}

// Capturer appends captures to one run, and remembers their answers. Only one goroutine at a time may use a
// Capturer.
type Capturer struct {
	store    *timeline.Store
	run      string
	head     *timeline.Head    // nil until the run exists
	answered map[string]Answer // by the id of the capture
	recalled bool              // answered has the captures of the newest entries of head
}

// Head returns the newest entry of the run that the Capturer has read or appended, or nil if the run does not exist yet.
func (c *Capturer) Head() *timeline.Head { return c.head }

// Open returns a Capturer for the run with the id run. If the run does not exist, the first capture creates
// it. The first capture with an id reads the run's newest entries for the ids of captures.
func Open(ctx context.Context, s *timeline.Store, run string) (*Capturer, error) {
	c := &Capturer{store: s, run: run, answered: make(map[string]Answer)}
	head, err := s.Head(ctx, run)
	if fault.CodeOf(err) == fault.RunNotFound {
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	c.head = head
	return c, nil
}

// ParseCapture parses one capture. The error is invalid_input in these cases: line is not exactly one valid JSON
// object, a member is unknown or has a wrong type, or the capture has both state and changes. The error is
// limit_exceeded if line is larger or nested deeper than the format allows.
func ParseCapture(line []byte) (*Capture, error) {
	// These limits are the largest that the format allows. The append checks the store's own limits.
	deepest := snapshot.Limits{Depth: math.MaxInt, Value: math.MaxInt}
	if err := deepest.CheckSize(bytes.TrimSpace(line)); err != nil {
		return nil, timeline.Explain(err)
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	var c Capture
	if err := dec.Decode(&c); err != nil {
		return nil, notCapture(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fault.New(fault.InvalidInput, "text follows the capture's JSON object").
			Hint("with --batch, write each capture on a line of its own")
	}
	if c.State != nil && c.Changes != nil {
		return nil, fault.New(fault.InvalidInput, "the capture has both state and changes: leave one of them out")
	}
	return &c, nil
}

// notCapture returns the error invalid_input for a capture that cannot be decoded. err is the decoder's error. If
// a member has a wrong type, the message names the member and the type. Otherwise, the message has the text of
// err.
func notCapture(err error) error {
	out := fault.New(fault.InvalidInput, "the capture is not a valid JSON object: %s", strings.TrimPrefix(err.Error(), "json: "))
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		out = fault.New(fault.InvalidInput, "%s cannot be a JSON %s", cmp.Or(wrong.Field, "a capture"), wrong.Value)
	}
	return out.Hint("`git smithers help scripting` describes the members of a capture")
}

// Capture appends an entry for req and returns its answer after the entry is on stable storage. If c or one of the
// run's newest 1,000 entries has a capture with the same id, Capture returns the earlier answer and appends
// nothing.
//
// If req has Expect, and the tip differs from Expect, the error is conflict. Without Expect, Capture tries again
// on the new tip whenever another process has appended an entry. It stops when the append succeeds or ctx ends. If
// the new tip does not descend from the tip that c knows, the error is always conflict; see Head.Refresh.
func (c *Capturer) Capture(ctx context.Context, req *Capture) (Answer, error) {
	files := new(capturedFiles)
	defer files.close()
	for try := 1; ; try++ {
		answer, err := c.attempt(ctx, req, files)
		if err == nil || fault.CodeOf(err) != fault.Conflict {
			return answer, err
		}
		if known, knownErr := c.knows(req.ID); known || knownErr != nil {
			return c.again(ctx, req.ID, knownErr)
		}
		if req.Expect != nil || errors.Is(err, timeline.ErrOtherHistory) {
			return answer, err
		}
		if err := timeline.Pause(ctx, try); err != nil {
			return Answer{}, timeline.Explain(err)
		}
	}
}

// attempt tries once to append req on the tip that c knows. If c knows no tip, attempt creates the run. If c has
// already answered a capture with the same id, attempt returns that answer. If another process appended an entry
// or created the run first, the error is conflict, and attempt reads the new tip for the next try. files keeps the
// captured files for the next try; without files, an entry that has some is errAlone.
func (c *Capturer) attempt(ctx context.Context, req *Capture, files *capturedFiles) (Answer, error) {
	if known, err := c.knows(req.ID); known || err != nil {
		return c.again(ctx, req.ID, err)
	}
	if err := c.checkExpect(ctx, req); err != nil {
		return Answer{}, err
	}
	events, had, err := c.newEvents(req.Events)
	if err != nil {
		return Answer{}, err
	}
	if len(events) == 0 && had != nil && req.onlyEvents() {
		return answerFor(had), c.head.Settle(ctx)
	}
	draft, err := c.draft(req, events)
	if err != nil {
		return Answer{}, err
	}
	if files == nil {
		if wants, err := c.wantsFiles(req, &draft); err != nil || wants {
			return Answer{}, errors.Join(errAlone, err)
		}
	} else if err := c.addFiles(ctx, req, files, &draft); err != nil {
		return Answer{}, err
	}
	if err := c.keepCarried(draft.Journal); err != nil {
		return Answer{}, err
	}
	if c.head == nil {
		row := snapshot.Run{ID: c.run, Status: snapshot.RunRunning, CreatedAtMs: draft.AtMs}
		head, err := c.store.Create(ctx, row, draft)
		if fault.CodeOf(err) == fault.RunExists {
			return Answer{}, errors.Join(fault.New(fault.Conflict, "another process created run %q", c.run), c.catchUp(ctx))
		}
		if err != nil {
			return Answer{}, err
		}
		c.head, c.recalled = head, true
	} else if err := c.head.Append(ctx, draft); err != nil {
		if fault.CodeOf(err) == fault.Conflict {
			if err := c.catchUp(ctx); err != nil {
				return Answer{}, err
			}
		}
		return Answer{}, err
	}
	answer := answerFor(c.head.Entry())
	c.remember(answer)
	return answer, nil
}

// knows reports whether c has answered a capture with an id, or one of the run's newest entries has it.
func (c *Capturer) knows(id string) (bool, error) {
	if id == "" {
		return false, nil
	}
	if c.head != nil && !c.recalled {
		if err := c.recall(); err != nil {
			return false, err
		}
		c.recalled = true
	}
	_, known := c.answered[id]
	return known, nil
}

// again returns the earlier answer to the capture with the given id, or err. It first settles the tip: a process may
// have written the entry and died before the entry was on stable storage.
func (c *Capturer) again(ctx context.Context, id string, err error) (Answer, error) {
	if err == nil {
		err = c.head.Settle(ctx)
	}
	if err != nil {
		return Answer{}, err
	}
	return c.answered[id], nil
}

// checkExpect returns nil if req has no Expect, or if the run's tip is the commit that req.Expect names. If req.Expect
// is null, it returns nil if the run does not exist. The error is conflict if the tip differs, and invalid_input if
// req.Expect is neither null nor a commit id. Before a conflict, checkExpect reads the tip again: the new tip may be
// the expected tip, or another process may have appended this capture.
func (c *Capturer) checkExpect(ctx context.Context, req *Capture) error {
	if req.Expect == nil {
		return nil
	}
	var expect *objstore.ID
	if err := json.Unmarshal(req.Expect, &expect); err != nil {
		return fault.New(fault.InvalidInput, "expect is neither null nor a commit id: %w", err)
	}
	have := objstore.ID{}
	if c.head != nil {
		have = c.head.Entry().ID
	}
	want := objstore.ID{}
	if expect != nil {
		want = *expect
	}
	if have == want {
		return nil
	}
	if err := c.catchUp(ctx); err != nil {
		return err
	}
	if c.head != nil && c.head.Entry().ID == want {
		return nil
	}
	return fault.New(fault.Conflict, "the tip of run %q is not the entry that the capture expects; nothing was written", c.run).
		Hint("read the tip of the run, and base the capture on it").
		Detail("expect", want.String()).Detail("tip", c.tipString())
}

// tipString returns the id of the tip that c knows, or the zero id if c knows no tip.
func (c *Capturer) tipString() string {
	if c.head == nil {
		return objstore.ID{}.String()
	}
	return c.head.Entry().ID.String()
}

// catchUp reads the tip again and remembers the captures that other processes appended. It does nothing if
// the run still does not exist.
func (c *Capturer) catchUp(ctx context.Context) error {
	if c.head != nil {
		return c.catchUpFrom(ctx)
	}
	head, err := c.store.Head(ctx, c.run)
	if fault.CodeOf(err) == fault.RunNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	c.head = head
	return nil
}

// catchUpFrom does the work of catchUp if c knows a tip. Of the new entries, it remembers the newest, at most
// captureMemory entries.
func (c *Capturer) catchUpFrom(ctx context.Context) error {
	var newer []Answer
	err := c.head.RefreshEach(ctx, func(entry *snapshot.Entry) {
		if len(newer) < captureMemory {
			newer = append(newer, answerFor(entry))
		}
	})
	if err != nil {
		return err
	}
	for _, answer := range newer {
		c.remember(answer)
	}
	return nil
}

// recall remembers the captures in the run's newest entries, at most captureMemory entries.
func (c *Capturer) recall() error {
	left := captureMemory
	for entry, err := range c.head.Chain() {
		if err != nil {
			return timeline.Explain(err)
		}
		if left == 0 {
			return nil
		}
		left--
		c.remember(answerFor(entry))
	}
	return nil
}

// remember stores answer by the id of its capture. It ignores an answer without an id, and keeps an earlier
// answer with the same id.
func (c *Capturer) remember(answer Answer) {
	if _, ok := c.answered[answer.ID]; !ok && answer.ID != "" {
		c.answered[answer.ID] = answer
	}
}

// answerFor returns the answer to the capture that entry stores. If entry is a frame, the answer has the number of
// the frame.
func answerFor(entry *snapshot.Entry) Answer {
	out := Answer{ID: entry.Operation, Commit: entry.ID.String(), ContentHash: entry.ContentHash.String()}
	if frame := entry.Frame; frame != snapshot.NoFrame {
		out.Frame = &frame
	}
	return out
}

// draft returns the draft of the next entry for req with those of its events that are new, without the files of the working copy. The error is
// invalid_input if req is invalid.
//   - If req has State, Changes or Frame, the entry is a frame. Only a frame may have IDs.
//   - draft puts changes of the engine's journal into the draft's Journal, and all other changes into the
//     state.
//   - State replaces the whole state of the tip. With Changes, a changed node without needs keeps its needs.
//   - An event without a time gets the time of the draft.
//   - If req has no subject, draft makes one from the changes; see captureSubject.
func (c *Capturer) draft(req *Capture, events []givenEvent) (snapshot.Draft, error) {
	at := c.store.Now().UnixMilli()
	draft := snapshot.Draft{
		Operation: req.ID, VCS: req.VCS, AtMs: at, Subject: req.Subject,
	}
	if req.State != nil || req.Changes != nil || req.Frame != nil {
		draft.Frame = &snapshot.FrameDraft{Rendered: req.Frame, IDs: req.IDs}
	} else if len(req.IDs) > 0 {
		return snapshot.Draft{}, fault.New(fault.InvalidInput, "the capture has ids, but it is not a frame: only a frame has ids").
			Hint(`add "changes":[] to make the capture a frame with an unchanged state`)
	}
	if err := checkVCS(req.VCS); err != nil {
		return snapshot.Draft{}, err
	}
	for _, change := range req.Changes {
		if snapshot.IsEngineJournal(change.Collection) {
			draft.Journal = append(draft.Journal, change)
		} else {
			draft.Frame.State = append(draft.Frame.State, change)
		}
	}
	if req.State != nil {
		changes, err := c.wholeState(req.State)
		if err != nil {
			return snapshot.Draft{}, timeline.Explain(err)
		}
		draft.Frame.State = changes
	}
	if draft.Frame != nil {
		for i := range draft.Frame.State {
			draft.Frame.State[i].Amends = true // an engine that changes a member repeats the others as it has read them
		}
	}
	for i, e := range events {
		if e.Type == "" {
			return snapshot.Draft{}, fault.New(fault.InvalidInput, "event %d of the capture has no type", i+1)
		}
		if e.AtMs == 0 {
			e.AtMs = at
		}
		draft.Events = append(draft.Events, snapshot.Event{Type: e.Type, AtMs: e.AtMs, Payload: e.Payload})
	}
	if req.State == nil { // a whole state has all needs, but a changed node may lack its needs
		if err := c.keepNeeds(draft.StateChanges()); err != nil {
			return snapshot.Draft{}, err
		}
	}
	if draft.Subject == "" {
		draft.Subject = captureSubject(req, draft)
	}
	if req.Run != nil {
		draft.Run = req.Run.edit(at)
	}
	return draft, nil
}

// wholeState returns the changes that turn the tip's state, or the empty state of a new run, into the given
// state.
func (c *Capturer) wholeState(state json.RawMessage) ([]snapshot.Change, error) {
	whole, err := snapshot.ParseWhole(c.store.Settings().Limits, state)
	if err != nil {
		return nil, err
	}
	before := snapshot.EmptyState()
	if c.head != nil {
		before = c.head.State()
	}
	return snapshot.ChangesTo(before, whole)
}

// edit returns a function that makes the changes in r to the run's row. If r has a status, the function also sets the
// end time: to at for a final status, and to nil for other statuses. at is in milliseconds since 1970.
func (r *runEdit) edit(at int64) func(*snapshot.Run) {
	return func(row *snapshot.Run) {
		if r.Workflow != nil {
			row.Workflow = *r.Workflow
		}
		if r.Error != nil {
			row.Error = *r.Error
		}
		if r.Status == nil {
			return
		}
		row.Status = *r.Status
		row.FinishedAtMs = nil
		if row.Status.Ended() {
			row.FinishedAtMs = &at
		}
	}
}
