package timeline

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/internal/snapshot/reset"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// ForkRequest names the frame to fork, and the differences of the child from that frame.
type ForkRequest struct {
	From      string          // an address; a run's id alone means the run's newest frame
	RunID     string          // the child's id; "" means a random id
	PeerID    bool            // RunID is another program's, and may be Mistakable
	Nodes     []string        // nodes to reset, with all nodes that need these nodes directly or indirectly
	NoDeps    bool            // reset Nodes alone
	NamedOnly bool            // reset Nodes as Smithers does; see [reset.Named]
	Input     json.RawMessage // a JSON object that is merged over the parent's input; nil keeps the parent's input
	// Edits change outputs of finished nodes, in their order, before everything else. These nodes stay finished, and all nodes that need them directly or
	// indirectly are reset.
	Edits       []Edit
	Label       string // for people; "" means no label
	Description string // for people; "" means no description
	// Found is called first, with the frame that From names. If Found returns an error, nothing is forked. May be nil.
	Found func(*LoadedEntry) error
	// Prepare returns further changes of the child's frame 0, which are made before the input and the resets. Its second
	// argument gives texts of the state their secrets. If Prepare returns an error, nothing is written. May be nil.
	Prepare func(*snapshot.State, snapshot.Reveal) ([]snapshot.Change, error)
	// CheckInput is called with the merged input if Input is given. If CheckInput returns an error, nothing is written. A
	// nil CheckInput accepts every input.
	CheckInput func(json.RawMessage) error
	// CheckOutput is called with each node of Edits and its output with all edits. If CheckOutput returns an error, nothing is written. A nil CheckOutput
	// accepts every output.
	CheckOutput func(snapshot.Node, json.RawMessage) error
	// Effects is asked if effects of the parent are ahead of the child. If it returns an error, nothing is written. May be nil.
	Effects ConfirmEffects
	// Workflow and WorkflowPath are the child's workflow and the path of the workflow's file. nil and "" keep the
	// parent's.
	Workflow     *snapshot.Workflow
	WorkflowPath string
	// KeepsWorkflow makes the child run the stored definition, without the path of a workflow file.
	KeepsWorkflow bool
	// DryRun, if not nil, is called in place of all writes, with the frame to fork and the draft of the child's first entry. Fork then makes no
	// child, and returns a nil head and the error of DryRun.
	DryRun func(from *LoadedEntry, draft snapshot.Draft) error
	// Caller identifies the task whose call makes the child; nil if no task does.
	Caller *snapshot.Caller
	// Replay adds the event ReplayStarted, for a child that is executed at once. RestoreVCS is a member of that event. If
	// RestoreVCS is true, the child runs on the files of the frame.
	Replay, RestoreVCS bool
}

// Fork makes a child run from a frame and returns the child's head. If the request changes no state, frame 0 of
// the child is the same commit as the parent's frame. Otherwise, frame 0 is a new entry that differs from the
// parent's frame only in the changed rows. Fork adds its op to the list of ops that were done in this clone; see
// [Store.Here].
// If Found, Prepare, CheckInput or CheckOutput of the request fails, Fork makes no child and returns the error. Codes:
// invalid_run_id, run_exists and run_pruned for the child's id; node_not_found; invalid_input, also for Edits; those of Load.
func (s *Store) Fork(ctx context.Context, req ForkRequest) (*Head, error) {
	// Without the pin, the parent run may be pruned and collected before the fork exists.
	release, err := s.objects.Pin(ctx)
	if err != nil {
		return nil, Explain(err)
	}
	defer release()
	job := &forkJob{store: s, req: req}
	from, err := job.point(ctx)
	if err != nil {
		return nil, err
	}
	id := req.RunID
	if id == "" {
		id = NewRunID()
	}
	named := newTip
	if req.PeerID {
		named = anyID
	}
	tip, err := named(id)
	if err != nil {
		return nil, err
	}
	if err := RefusePruned(ctx, s, id); err != nil {
		return nil, err
	}
	changes, err := job.changes(from.Entry)
	if err != nil {
		return nil, job.hint(err, from.Address)
	}
	if err := job.askAboutEffects(ctx, from, changes); err != nil {
		return nil, err
	}
	op := snapshot.Op{Number: 1, Kind: snapshot.OpFork, AtMs: s.now().UnixMilli()}
	if len(changes) > 0 {
		// The fork makes a frame of its own: the child's frame 0.
		op.Frame = new(int64)
	}
	if req.DryRun != nil {
		return nil, req.DryRun(from, job.draft(from, id, op, changes))
	}
	// The list gets the op before the fork exists; see DoneHere.
	s.Here().Op(id, op)
	batch := s.objects.Begin()
	draft := job.draft(from, id, op, changes)
	late, err := job.late(ctx, from)
	if err != nil {
		return nil, Explain(err)
	}
	draft.Journal = append(draft.Journal, late...)
	parent, err := from.Entry.RunRow()
	if err != nil {
		return nil, Explain(err)
	}
	book := s.Secrets(snapshot.Run{ID: id, Parent: &snapshot.Parent{RunID: from.Address.Run, Commit: from.Entry.ID}, Secrets: parent.Secrets})
	draft.Redactor, draft.Marker = book, s.vault
	entry, err := snapshot.Append(batch, s.frames, from.Entry, draft)
	if err == nil {
		err = book.Sync()
	}
	if err != nil {
		return nil, Explain(err)
	}
	if err := s.Inherit(entry, from.Entry); err != nil {
		return nil, err
	}
	if err := job.commit(ctx, batch, id, tip, from.Entry, entry); err != nil {
		return nil, err
	}
	h := &Head{store: s, tip: tip}
	return h, h.adopt(entry)
}

// NewRunID returns a random run id: eight characters of [a-z2-7].
func NewRunID() string {
	var b [5]byte
	rand.Read(b[:])
	return strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
}

// forkJob makes the fork of one request.
type forkJob struct {
	store  *Store
	req    ForkRequest
	edited []*editedOutput // set by changes
}

// point loads the frame to fork. It calls req.Found with the entry that req.From names, if Found is not nil, and
// returns the error of Found. If req.From is a run's id alone, the run's tip may be an entry that is not a frame.
// point then returns the run's newest frame.
func (j *forkJob) point(ctx context.Context) (*LoadedEntry, error) {
	from, err := j.store.Load(ctx, j.req.From)
	if err == nil && j.req.Found != nil {
		err = j.req.Found(from)
	}
	if err != nil || from.Entry.Frame != snapshot.NoFrame {
		return from, err
	}
	return j.store.At(ctx, from.Address)
}

// changes returns the changes of the child's state, in the order in which they are made: the edits, the changes of Prepare,
// the merged input, and the resets. changes computes the resets from the parent's state after the other changes. If Prepare,
// CheckInput or CheckOutput fails, changes returns that error. Codes: invalid_input, node_not_found.
func (j *forkJob) changes(parent *snapshot.Entry) ([]snapshot.Change, error) {
	state, err := parent.State()
	if err != nil {
		return nil, Explain(err)
	}
	row, err := parent.RunRow()
	if err != nil {
		return nil, Explain(err)
	}
	reveal := j.store.Secrets(row).Reveal
	if err := j.edit(state, reveal); err != nil {
		return nil, Explain(err)
	}
	var changes []snapshot.Change
	for _, o := range j.edited {
		changed := snapshot.SetOutput(o.node.OutputTable, o.node.NodeID, o.node.Iteration, o.stored)
		changed.Kept = o.kept
		changes = append(changes, changed)
	}
	if j.req.Prepare != nil {
		if changes, err = j.then(state, changes, func(s *snapshot.State) ([]snapshot.Change, error) { return j.req.Prepare(s, reveal) }); err != nil {
			return nil, err
		}
	}
	if j.req.Input != nil {
		merged, err := changedInput(j.store, parent, j.req.Input)
		if err != nil {
			return nil, Explain(err)
		}
		if j.req.CheckInput != nil {
			if err := j.req.CheckInput(merged); err != nil {
				return nil, Explain(err)
			}
		}
		amended, err := AmendInput(state, j.req.Input)
		if err != nil {
			return nil, err
		}
		changes = append(changes, amended)
	}
	if len(j.req.Nodes) > 0 {
		if changes, err = j.then(state, changes, j.req.resets); err != nil {
			return nil, err
		}
	}
	if len(j.edited) > 0 {
		if changes, err = j.then(state, changes, j.dependents); err != nil {
			return nil, err
		}
		_, err = j.then(state, changes, j.stay)
	}
	return changes, err
}

// with returns the state after changes.
func (j *forkJob) with(state *snapshot.State, changes []snapshot.Change) (*snapshot.State, error) {
	if len(changes) == 0 {
		return state, nil
	}
	return state.EditWithin(j.store.settings.Limits, j.store.objects.Begin(), changes)
}

// then returns changes and those that next returns for the state after changes.
func (j *forkJob) then(state *snapshot.State, changes []snapshot.Change, next func(*snapshot.State) ([]snapshot.Change, error)) ([]snapshot.Change, error) {
	after, err := j.with(state, changes)
	if err != nil {
		return nil, Explain(err)
	}
	more, err := next(after)
	return append(changes, more...), Explain(err)
}

// askAboutEffects asks req.Effects about the effects of the parent that are ahead of the child.
func (j *forkJob) askAboutEffects(ctx context.Context, from *LoadedEntry, changes []snapshot.Change) error {
	if j.req.Effects == nil {
		return nil
	}
	parent, err := j.store.Head(ctx, from.Address.Run)
	if err != nil {
		return nil //nolint:nilerr // the run of the frame is gone, with its effects
	}
	state, err := from.Entry.State()
	if err == nil {
		state, err = j.with(state, changes)
	}
	if err != nil {
		return Explain(err)
	}
	effects, err := Effects(parent.Entry(), from.Entry, state)
	if err != nil || len(effects) == 0 {
		return err
	}
	return j.req.Effects(ctx, effects)
}

// hint returns err, with a hint that names the command that lists the nodes and outputs of a frame if err has the code node_not_found, or is about an edit
// and has no hint. at is the frame's address.
func (j *forkJob) hint(err error, at Address) error {
	known, ok := errors.AsType[*fault.Error](err)
	switch {
	case ok && known.Code == fault.NodeNotFound:
		return known.Hint("`git smithers show %s` lists the frame's nodes", fault.Word(at.String()))
	case ok && known.Code == fault.InvalidInput && len(known.Hints) == 0 && len(j.req.Edits) > 0:
		return known.Hint("`git smithers show %s` lists the frame's outputs", fault.Word(at.String()))
	}
	return err
}

// resets returns the changes of state that reset the nodes of the request. By default, the changes also reset all nodes
// that need these nodes, directly or indirectly. With NoDeps, the changes reset the named nodes alone. With NamedOnly,
// they reset the named nodes as Smithers does; see [reset.Named].
func (req ForkRequest) resets(state *snapshot.State) ([]snapshot.Change, error) {
	if req.NamedOnly {
		return reset.Named(state, req.Nodes)
	}
	return reset.Nodes(state, req.Nodes, req.NoDeps)
}

// draft returns the draft of the child's first entry. from is the parent's frame, id is the child's id, and op is the
// record of the fork in the child. Of the parent's row, the child's row keeps only the workflow. The child is pending,
// and its field Parent names the frame. If changes is not empty, the entry is a frame.
func (j *forkJob) draft(from *LoadedEntry, id string, op snapshot.Op, changes []snapshot.Change) snapshot.Draft {
	at := op.AtMs
	subject := fmt.Sprintf("forked from %s", from.Address)
	if j.req.Label != "" {
		subject += " (" + j.req.Label + ")"
	}
	description := j.req.Description
	if edits := editsInWords(j.req.Edits); edits != "" {
		subject += ": " + edits
		description = strings.TrimPrefix(description+"; "+edits, "; ")
	}
	draft := snapshot.Draft{
		Journal:  []snapshot.Change{SetOp(op)},
		Workflow: j.req.Workflow,
		Events:   append(forkEvents(from, id, j.req, at), j.editEvents(id, at)...),
		Subject:  subject,
		AtMs:     at,
		Limits:   j.store.settings.Limits,
		Run: func(row *snapshot.Run) {
			*row = snapshot.Run{
				ID: id, Workflow: row.Workflow, WorkflowPath: row.WorkflowPath, WorkflowHash: row.WorkflowHash,
				Status: snapshot.RunPending, CreatedAtMs: at, Caller: j.req.Caller,
				Parent: &snapshot.Parent{
					RunID: from.Address.Run, Frame: from.Address.Frame, Commit: from.Entry.ID,
					Label: j.req.Label, Description: description, AtMs: at,
				},
			}
			if j.req.WorkflowPath != "" {
				row.WorkflowPath = j.req.WorkflowPath
			}
			if j.req.KeepsWorkflow {
				// the child runs the stored definition, without a file
				row.WorkflowPath = ""
			}
		},
	}
	if len(changes) > 0 {
		draft.Frame = &snapshot.FrameDraft{State: changes}
	}
	return draft
}

// late returns the rows of the parent that came after the frame and belong to it, see lateRows. A parent that is gone has none.
func (j *forkJob) late(ctx context.Context, from *LoadedEntry) ([]snapshot.Change, error) {
	parent, err := j.store.Head(ctx, from.Address.Run)
	if code := fault.CodeOf(err); code == fault.RunNotFound || code == fault.RunPruned {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return lateRows(from.Entry, parent.Entry(), j.store.settings.Limits)
}

// forkEvents returns the events of the child's first entry: RunForked and, for a replay, ReplayStarted. from is
// the parent's frame, id is the child's id, and at is the time of the events in Unix milliseconds.
func forkEvents(from *LoadedEntry, id string, req ForkRequest, at int64) []snapshot.Event {
	events := []snapshot.Event{NewEvent("RunForked", at, struct {
		RunID  string `json:"runId"`
		Parent string `json:"parentRunId"`
		Frame  int64  `json:"parentFrameNo"`
		Label  string `json:"branchLabel,omitempty"`
	}{id, from.Address.Run, from.Address.Frame, req.Label})}
	if req.Replay {
		events = append(events, NewEvent("ReplayStarted", at, struct {
			RunID      string `json:"runId"`
			Parent     string `json:"parentRunId"`
			Frame      int64  `json:"parentFrameNo"`
			RestoreVCS bool   `json:"restoreVcs"`
		}{id, from.Address.Run, from.Address.Frame, req.RestoreVCS}))
	}
	return events
}

// commit writes the child's first entry, and creates the child's tip and the ref of frame 0. Frame 0 is entry if
// entry is a frame, and otherwise the parent's frame parent. Code: run_exists if the tip exists already.
func (j *forkJob) commit(ctx context.Context, batch *objstore.Batch, id string, tip refs.Name, parent, entry *snapshot.Entry) error {
	frame, err := refs.Frame(id, 0)
	if err != nil {
		return Explain(err)
	}
	zero := parent.ID
	if entry.Frame != snapshot.NoFrame {
		zero = entry.ID
	}
	err = j.store.Commit(ctx, batch, []refs.Update{{Name: tip, New: entry.ID}, {Name: frame, New: zero}})
	if fault.CodeOf(err) == fault.Conflict {
		return runExists(id)
	}
	return err
}
