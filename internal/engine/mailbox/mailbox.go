package mailbox

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"iter"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Recorder reads a run's tip and appends to it. *timeline.Head is a Recorder.
type Recorder interface {
	// Refresh reads the newest tip.
	Refresh(ctx context.Context) error
	// Update calls build and appends the draft that build returns. If another process moves the tip first, Update
	// refreshes the recorder and calls build again. If the draft is nil, Update appends nothing.
	Update(ctx context.Context, build func() (*snapshot.Draft, error)) error
	// Entry returns the tip that the recorder has read.
	Entry() *snapshot.Entry
	// Row returns the run's row at the tip.
	Row() snapshot.Run
	// State returns the state at the tip.
	State() *snapshot.State
	// Stored returns a change as it is stored: without its secrets, and with the key that then follows from its value.
	Stored(c snapshot.Change) (snapshot.Change, error)
}

// Place identifies the node of an approval or human request.
type Place struct {
	Node      string // the node's id or, without Iteration, its key; "" means the only node with a pending request
	Iteration *int   // nil means the newest iteration
}

// request is a mailbox row that people answer.
type request interface {
	snapshot.Approval | snapshot.HumanRequest
}

// seenRequest is a request with the properties that find uses.
type seenRequest[T request] struct {
	row     T
	key     workflow.NodeKey
	pending bool
}

// seenApproval returns the approval a with the key of its node. If a is not decided, the result is marked as pending.
func seenApproval(a snapshot.Approval) seenRequest[snapshot.Approval] {
	key := workflow.NodeKey{ID: a.NodeID, Iteration: a.Iteration}
	return seenRequest[snapshot.Approval]{a, key, a.Status == snapshot.ApprovalRequested}
}

// seenHuman returns the human request h with the key of its node. If h is not closed, the result is marked as
// pending.
func seenHuman(h snapshot.HumanRequest) seenRequest[snapshot.HumanRequest] {
	key := workflow.NodeKey{ID: h.NodeID, Iteration: h.Iteration}
	return seenRequest[snapshot.HumanRequest]{h, key, h.Status == snapshot.HumanPending}
}

// find returns the request of rows that p identifies. If p names no iteration, find returns the request of the newest
// iteration. If p names a node, the request may be closed. If p names no node, find looks only at pending requests.
//
// If no request fits p, the error's code is request_not_found. If requests of several nodes fit, the code is usage.
// seen must be seenApproval or seenHuman. run is the run's id. what names the awaited thing in messages: "an
// approval" or "an answer".
func find[T request](rows iter.Seq2[T, error], seen func(T) seenRequest[T], p Place, run, what string) (row T, err error) {
	var best *seenRequest[T]
	var pending []string
	several := false
	for row, err := range rows {
		if err != nil {
			return row, timeline.Explain(err)
		}
		got := seen(row)
		if got.pending {
			pending = append(pending, snapshot.Key(got.key.ID, got.key.Iteration))
		}
		if p.Node != "" && got.key.ID != p.Node || p.Node == "" && !got.pending ||
			p.Iteration != nil && got.key.Iteration != *p.Iteration {
			continue
		}
		several = several || best != nil && best.key.ID != got.key.ID
		if best == nil || got.key.Iteration > best.key.Iteration {
			best = &got
		}
	}
	switch node, iteration, notKey := snapshot.SplitKey(p.Node); {
	case best == nil && notKey == nil && p.Iteration == nil:
		return find(rows, seen, Place{node, &iteration}, run, what)
	case best == nil:
		return row, noRequest(p, run, what, pending)
	case several:
		return row, severalWait(run, what, pending)
	}
	return best.row, nil
}

// severalWait returns the usage error for a place that names no node while several nodes wait. run is the run's id.
// what names the awaited thing: "an approval" or "an answer". pending lists the keys of the waiting nodes.
func severalWait(run, what string, pending []string) error {
	return fault.New(fault.Usage, "several nodes of run %s wait for %s", run, what).
		Hint("name one of these nodes: %s", strings.Join(pending, ", "))
}

// noRequest returns the request_not_found error for a place that no request fits. run is the run's id. what names the
// awaited thing: "an approval" or "an answer". pending lists the keys of the waiting nodes. The error's hint names
// these nodes or, if there are none, the inbox command.
func noRequest(p Place, run, what string, pending []string) error {
	place := ""
	if p.Iteration != nil {
		place = fmt.Sprintf(" at iteration %d", *p.Iteration)
	}
	out := fault.New(fault.RequestNotFound, "no node of run %s waits for %s%s", run, what, place)
	if p.Node != "" {
		out = fault.New(fault.RequestNotFound, "node %s of run %s does not wait for %s%s", p.Node, run, what, place)
	}
	if len(pending) > 0 {
		return out.Hint("name one of the nodes that wait: %s", strings.Join(pending, ", "))
	}
	return out.Hint("`git smithers inbox` lists everything that runs wait for")
}

// notPending returns the not_pending error for a closed request. what names the request in the message, and status is
// the request's status. who is the name of the person who closed the request. atMs is the time of the close, in Unix
// milliseconds. who and atMs may be nil.
func notPending(node string, iteration int, what, status string, who *string, atMs *int64) error {
	text := fmt.Sprintf("%s of %s was %s", what, snapshot.Key(node, iteration), ByWhom(status, who))
	if atMs != nil {
		text += " at " + ShowTime(*atMs)
	}
	return fault.New(fault.NotPending, "%s; nothing was changed", text).
		Detail("nodeId", node).Detail("iteration", iteration).Detail("status", status)
}

// act refreshes rec and appends the draft that build makes from the newest tip. If another process moves the tip first,
// act calls build again. If build returns nil or an error, act appends nothing.
func act(ctx context.Context, rec Recorder, build func() (*snapshot.Draft, error)) error {
	if err := rec.Refresh(ctx); err != nil {
		return err
	}
	return rec.Update(ctx, build)
}

// newDraft returns the draft of an entry that changes rows of the mailbox and has no frame. operation is the unique
// name of the append.
func newDraft(operation string, at time.Time, subject string, changes []snapshot.Change, events ...snapshot.Event) *snapshot.Draft {
	return &snapshot.Draft{Mailbox: changes, Events: events, Subject: subject, Operation: operation, AtMs: at.UnixMilli()}
}

// newOperation returns a random name for an append. If the outcome of an append is unclear, the store finds the
// entry by this name.
func newOperation() string {
	var random [8]byte
	rand.Read(random[:])
	return hex.EncodeToString(random[:])
}

// saidText returns a person's text as a pointer, or nil for "". If the text is not valid UTF-8, the error's code is
// invalid_input. what names the text in the error.
func saidText(what, text string) (*string, error) {
	switch {
	case !utf8.ValidString(text):
		return nil, fault.New(fault.InvalidInput, "%s is not valid UTF-8", what)
	case text == "":
		return nil, nil
	}
	return &text, nil
}

// ByWhom returns verb with "by" and the person's name, or verb alone if who is nil.
func ByWhom(verb string, who *string) string {
	if who == nil {
		return verb
	}
	return verb + " by " + *who
}

// ShowTime returns a time in Unix milliseconds as text: RFC 3339, UTC, with milliseconds. Outputs have times in
// this form.
func ShowTime(ms int64) string {
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z07:00")
}
