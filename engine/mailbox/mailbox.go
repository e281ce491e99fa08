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

	"github.com/git-smithers/git-smithers/engine/workflow"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Recorder reads a run's tip and appends to it. *timeline.Head is a Recorder.
type Recorder interface {
	// Refresh reads the tip again.
	Refresh(ctx context.Context) error
	// Update appends the draft that build makes from the tip, and builds it again if the tip moves
	// first. A nil draft appends nothing.
	Update(ctx context.Context, build func() (*snapshot.Draft, error)) error
	// Entry, Row and State return the tip, the run's row and the state.
	Entry() *snapshot.Entry
	Row() snapshot.Run
	State() *snapshot.State
}

// Place identifies the node of an approval or human request.
type Place struct {
	Node      string // "": the only node that waits
	Iteration *int   // nil: the newest
}

// request is a mailbox row that people answer.
type request interface {
	snapshot.Approval | snapshot.HumanRequest
}

// seenRequest is a request with the fields that all kinds share.
type seenRequest[T request] struct {
	row     T
	key     workflow.NodeKey
	pending bool
}

func seenApproval(a snapshot.Approval) seenRequest[snapshot.Approval] {
	return seenRequest[snapshot.Approval]{a, workflow.NodeKey{ID: a.NodeID, Iteration: a.Iteration}, a.Status == snapshot.ApprovalRequested}
}

func seenHuman(h snapshot.HumanRequest) seenRequest[snapshot.HumanRequest] {
	return seenRequest[snapshot.HumanRequest]{h, workflow.NodeKey{ID: h.NodeID, Iteration: h.Iteration}, h.Status == snapshot.HumanPending}
}

// find returns the request that a place identifies. what is the word for the request.
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
	switch {
	case best == nil:
		return row, noRequest(p, run, what, pending)
	case several:
		return row, severalWait(run, what, pending)
	}
	return best.row, nil
}

// severalWait returns the error that a place without a node fits several requests.
func severalWait(run, what string, pending []string) error {
	return fault.New(fault.Usage, "several nodes of run %s wait for %s: name the node", run, what).
		Hint("%s", strings.Join(pending, ", "))
}

// noRequest returns the error that no request fits a place. pending lists the nodes that do wait.
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
		return out.Hint("these do: %s", strings.Join(pending, ", "))
	}
	return out.Hint("`git smithers inbox` lists what waits")
}

// notPending returns the error that a request was already decided.
func notPending(node string, iteration int, what, status string, who *string, atMs *int64) error {
	text := fmt.Sprintf("%s of %s was %s", what, snapshot.Key(node, iteration), ByWhom(status, who))
	if atMs != nil {
		text += " at " + ShowTime(*atMs)
	}
	return fault.New(fault.NotPending, "%s; nothing was changed", text).
		Detail("nodeId", node).Detail("iteration", iteration).Detail("status", status)
}

// act appends the draft that build makes from the newest tip.
func act(ctx context.Context, rec Recorder, build func() (*snapshot.Draft, error)) error {
	if err := rec.Refresh(ctx); err != nil {
		return err
	}
	return rec.Update(ctx, build)
}

// newDraft returns an entry that changes rows of the mailbox.
func newDraft(operation string, at time.Time, subject string, changes []snapshot.Change, events ...snapshot.Event) *snapshot.Draft {
	return &snapshot.Draft{Mailbox: changes, Events: events, Subject: subject, Operation: operation, AtMs: at.UnixMilli()}
}

// newOperation returns a unique name for an append, by which it is found after an unclear outcome.
func newOperation() string {
	var random [8]byte
	rand.Read(random[:])
	return hex.EncodeToString(random[:])
}

// saidText checks a person's text; "" becomes nil. what names the text in an error.
func saidText(what, text string) (*string, error) {
	switch {
	case !utf8.ValidString(text):
		return nil, fault.New(fault.InvalidInput, "%s is not valid UTF-8", what)
	case text == "":
		return nil, nil
	}
	return &text, nil
}

// ByWhom adds "by" and the person's name to a text, unless who is nil.
func ByWhom(verb string, who *string) string {
	if who == nil {
		return verb
	}
	return verb + " by " + *who
}

// ShowTime returns a time as outputs have it: RFC 3339, UTC, with milliseconds.
func ShowTime(ms int64) string {
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z07:00")
}
