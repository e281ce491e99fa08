// Package door stores the captures of other engines, which send states or changes of states as JSON.
package door

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

// captureMemory is the number of newest entries that are searched for a capture's id.
const captureMemory = 1000

// Capture is one capture in the JSON of other engines, which docs/scripting.md describes. It has either the whole
// State or the Changes of the state; both are an error. A capture without State, Changes and Frame appends an entry
// that is not a frame.
type Capture struct {
	ID      string            `json:"id"`
	Expect  json.RawMessage   `json:"expect"` // absent: any tip; null: the run must not exist; otherwise the tip's commit
	State   json.RawMessage   `json:"state"`
	Changes []snapshot.Change `json:"changes"`
	Events  []givenEvent      `json:"events"`
	Frame   json.RawMessage   `json:"frame"` // the rendered workflow tree
	VCS     *snapshot.VCS     `json:"vcs"`   // the revision alone, without files
	// Worktree decides whether the files of the working copy are captured. If it is nil, they are captured for the run's
	// first entry and if an attempt ends.
	Worktree *bool    `json:"worktree"`
	Run      *runEdit `json:"run"`
	Subject  string   `json:"subject"`
}

// runEdit has the members of the run's row that a capture may change.
type runEdit struct {
	Workflow *string             `json:"workflowName"`
	Status   *snapshot.RunStatus `json:"status"`
	Error    *string             `json:"error"`
}

// givenEvent is an event as an engine writes it.
type givenEvent struct {
	Type    string          `json:"type"`
	AtMs    int64           `json:"timestampMs"`
	Payload json.RawMessage `json:"payload"`
}

// Answer is the entry that stores a capture. The entry is on stable storage. Frame is nil if the entry is not a frame.
type Answer struct {
	ID          string `json:"id,omitempty"`
	Frame       *int64 `json:"frame"`
	Commit      string `json:"commit"`
	ContentHash string `json:"contentHash"`
}

// Capturer appends captures to one run, and remembers its answers. One goroutine at a time may use it.
type Capturer struct {
	store    *timeline.Store
	run      string
	head     *timeline.Head // nil until the run exists
	answered map[string]Answer
}

// Open opens a run for capturing. The run need not exist: the first capture makes it.
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
	return c, c.recall()
}

// ParseCapture reads one capture. Unknown members are refused by name.
func ParseCapture(line []byte) (*Capture, error) {
	// The append checks the store's own limits.
	deepest := snapshot.Limits{Depth: math.MaxInt, Value: math.MaxInt}
	if err := deepest.CheckValue(bytes.TrimSpace(line)); errors.Is(err, snapshot.ErrLimit) {
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
			Hint("with --batch, give one capture a line")
	}
	if c.State != nil && c.Changes != nil {
		return nil, fault.New(fault.InvalidInput, "a capture has either state or changes, not both")
	}
	return &c, nil
}

// notCapture explains why a line is not a capture.
func notCapture(err error) error {
	out := fault.New(fault.InvalidInput, "a capture is one JSON object: %s", strings.TrimPrefix(err.Error(), "json: "))
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		out = fault.New(fault.InvalidInput, "a JSON %s cannot be %s", wrong.Value, cmp.Or(wrong.Field, "a capture"))
	}
	return out.Hint("`git smithers help scripting` describes its members")
}

// Capture appends an entry for req and returns its answer once the entry is on stable storage. If a capture with the
// same id was answered before, by c or in any of the run's newest 1,000 entries, Capture returns that answer again
// and appends nothing.
//
// If req has Expect, a tip that differs from it is a conflict. Without Expect, Capture builds the entry again on the
// new tip until it succeeds or ctx ends; it has to try again only if another process appended an entry. A tip that
// does not descend from the tip that c knows is always a conflict; see Head.Refresh.
func (c *Capturer) Capture(ctx context.Context, req *Capture) (Answer, error) {
	files := new(capturedFiles)
	defer files.close()
	for try := 1; ; try++ {
		answer, err := c.attempt(ctx, req, files)
		if err == nil || fault.CodeOf(err) != fault.Conflict {
			return answer, err
		}
		if _, ok := c.answered[req.ID]; ok && req.ID != "" {
			return c.again(ctx, req.ID)
		}
		if req.Expect != nil || errors.Is(err, timeline.ErrOtherHistory) {
			return answer, err
		}
		if err := timeline.Pause(ctx, try); err != nil {
			return Answer{}, timeline.Explain(err)
		}
	}
}

// attempt tries once to append the capture on the tip that c knows. After a conflict it has read the new tip.
func (c *Capturer) attempt(ctx context.Context, req *Capture, files *capturedFiles) (Answer, error) {
	if _, ok := c.answered[req.ID]; ok && req.ID != "" {
		return c.again(ctx, req.ID)
	}
	if err := c.checkExpect(ctx, req); err != nil {
		return Answer{}, err
	}
	draft, err := c.draft(req)
	if err != nil {
		return Answer{}, err
	}
	if err := c.addFiles(ctx, req, files, &draft); err != nil {
		return Answer{}, err
	}
	if c.head == nil {
		row := snapshot.Run{ID: c.run, Status: snapshot.RunRunning, CreatedAtMs: draft.AtMs}
		head, err := c.store.Create(ctx, row, draft)
		if fault.CodeOf(err) == fault.RunExists {
			return Answer{}, errors.Join(fault.New(fault.Conflict, "run %q was created meanwhile", c.run), c.catchUp(ctx))
		}
		if err != nil {
			return Answer{}, err
		}
		c.head = head
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

// again returns the previous answer to a capture. It first settles the tip: a process may have written the entry and
// died before the entry was on stable storage.
func (c *Capturer) again(ctx context.Context, id string) (Answer, error) {
	if err := c.head.Settle(ctx); err != nil {
		return Answer{}, err
	}
	return c.answered[id], nil
}

// checkExpect returns a conflict if the tip differs from the one that the capture expects. It reads the tip again
// before that, since the new tip may already hold this very capture.
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
	return fault.New(fault.Conflict, "the tip of run %q is not what the capture expects", c.run).
		Hint("nothing was written; read the tip and build on it").
		Detail("expect", want.String()).Detail("tip", c.tipString())
}

func (c *Capturer) tipString() string {
	if c.head == nil {
		return objstore.ID{}.String()
	}
	return c.head.Entry().ID.String()
}

// catchUp reads the tip again and learns the ids of the captures that others appended.
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
	return c.recall()
}

// catchUpFrom is catchUp if c knows a tip.
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

// recall learns the ids of the run's newest captures, at most captureMemory of them.
func (c *Capturer) recall() error {
	left := captureMemory
	for entry, err := range c.store.Chain(c.head.Entry()) {
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

func (c *Capturer) remember(answer Answer) {
	if _, ok := c.answered[answer.ID]; !ok && answer.ID != "" {
		c.answered[answer.ID] = answer
	}
}

func answerFor(entry *snapshot.Entry) Answer {
	out := Answer{ID: entry.Operation, Commit: entry.ID.String(), ContentHash: entry.ContentHash.String()}
	if frame := entry.Frame; frame != snapshot.NoFrame {
		out.Frame = &frame
	}
	return out
}

// draft turns a capture into the draft of the next entry, without files.
func (c *Capturer) draft(req *Capture) (snapshot.Draft, error) {
	at := c.store.Now().UnixMilli()
	draft := snapshot.Draft{
		Operation: req.ID, VCS: req.VCS, AtMs: at, Subject: req.Subject,
	}
	if req.State != nil || req.Changes != nil || req.Frame != nil {
		draft.Frame = &snapshot.FrameDraft{Rendered: req.Frame}
	}
	if err := checkVCS(req.VCS); err != nil {
		return snapshot.Draft{}, err
	}
	for _, change := range req.Changes {
		if change.Collection == snapshot.CollectionAttempts || change.Collection == snapshot.CollectionLogs {
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
	for i, e := range req.Events {
		if e.Type == "" {
			return snapshot.Draft{}, fault.New(fault.InvalidInput, "event %d has no type", i)
		}
		if e.AtMs == 0 {
			e.AtMs = at
		}
		draft.Events = append(draft.Events, snapshot.Event{Type: e.Type, AtMs: e.AtMs, Payload: e.Payload})
	}
	if req.State == nil {
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

// wholeState returns the changes that turn the tip's state into the given state.
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

// edit returns the function that changes the run's row. at is the time at which a run that ends has finished.
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
