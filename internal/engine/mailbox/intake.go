package mailbox

import (
	"context"
	"encoding/json"
	"time"

	"github.com/git-smithers/git-smithers/internal/engine/schema"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// A Verb is what a letter does.
type Verb int

// The verbs of letters.
const (
	Approve  Verb = iota // an approval
	Deny                 // an approval
	Answer               // a human request
	Withdraw             // a human request: its attempt fails
	Send                 // a signal
)

// verbs has how a verb leaves a row, the type of the event, and what messages call the one who writes the letter.
var verbs = map[Verb]struct{ status, event, who string }{
	Approve:  {snapshot.ApprovalApproved, "ApprovalGranted", "the deciding person's name"},
	Deny:     {snapshot.ApprovalDenied, "ApprovalDenied", "the deciding person's name"},
	Answer:   {snapshot.HumanAnswered, "HumanRequestAnswered", "the answering person's name"},
	Withdraw: {snapshot.HumanCancelled, "HumanRequestCancelled", "the answering person's name"},
	Send:     {who: "the sender's name"},
}

// A Letter is what a person or another program tells a run.
type Letter struct {
	Verb
	Place                 // of the approval or human request; a signal has none
	Value json.RawMessage // the answer, or the payload of the signal: one JSON value
	Note  string          // of a decision; "" for none
	By    string          // who writes the letter; "" if unknown

	Signal        string  // the name of the signal
	CorrelationID *string // of the signal; nil for none
}

// A Receipt has the row that a letter has left in the mailbox. One of its pointers is set.
type Receipt struct {
	Approval *snapshot.Approval
	Request  *snapshot.HumanRequest
	Signal   *snapshot.Signal // with its number
	Known    bool             // the run had the signal already, so nothing was added
}

// An Intake takes letters for one run. Only one goroutine at a time may use an Intake.
type Intake struct {
	rec  Recorder
	kept objstore.ID        // the id of the run's definition, from which wf was parsed
	wf   *workflow.Workflow // nil if the run has no definition, or a definition of another engine
}

// NewIntake returns an Intake for a run. It reads nothing.
func NewIntake(rec Recorder) *Intake { return &Intake{rec: rec} }

// Take appends an entry without a frame that has what a letter says. at is the time at which it was written. If the run has the same signal
// already, from the same sender and time, Take adds nothing. If the tip moves meanwhile, Take reads the new tip and
// checks the letter again. With an error, Take changes nothing. The error's code is:
//   - request_not_found, if the letter's place has no approval or request;
//   - usage, if the place names no node and several nodes wait;
//   - not_pending, if the approval was decided before, or the request is closed or has expired;
//   - run_not_resumable for a signal to a finished run. A failed or cancelled run keeps the signal for its resume;
//   - invalid_input, if a text is not valid UTF-8, a value is not one JSON value, an answer does not fit the request's form, or a signal has
//     no name or does not fit its tasks. The payload must fit the output schema of a task that waits for the signal or, if none waits, of one
//     that may wait later. If there is no such task either, every payload fits;
//   - limit_exceeded, if the check of a value may take too long.
func (in *Intake) Take(ctx context.Context, l Letter, at time.Time) (out Receipt, err error) {
	by, err := saidText(verbs[l.Verb].who, l.By)
	if err != nil {
		return out, err
	}
	if l.Verb == Send {
		return in.send(ctx, l, by, at)
	}
	settle := in.decide
	if l.Verb == Answer || l.Verb == Withdraw {
		settle = in.answer
	}
	if l.Verb == Answer {
		if l.Value, _, err = schema.DecodeValue(l.Value); err != nil {
			return out, fault.New(fault.InvalidInput, "answer: %w", err)
		}
	}
	note, err := saidText("the note", l.Note)
	if err != nil {
		return out, err
	}
	operation := newOperation()
	err = act(ctx, in.rec, func() (*snapshot.Draft, error) {
		done, err := settle(l, note, by, at)
		if err != nil {
			return nil, timeline.Explain(err)
		}
		out = done.Receipt // act calls this function again if the tip moves; the last call counts
		return newDraft(operation, at, done.node+" was "+ByWhom(verbs[l.Verb].status, by), []snapshot.Change{done.row}, done.event), nil
	})
	return out, err
}

// settled is what a letter makes of the row at its place.
type settled struct {
	Receipt

	node  string // its key
	row   snapshot.Change
	event snapshot.Event
}

// decide approves or denies an approval at the tip.
func (in *Intake) decide(l Letter, note, by *string, at time.Time) (out settled, err error) {
	run := in.rec.Row().ID
	a, err := find(in.rec.State().AllApprovals(), seenApproval, l.Place, run, "an approval")
	if err != nil {
		return out, err
	}
	if a.Status != snapshot.ApprovalRequested {
		return out, notPending(a.NodeID, a.Iteration, "the approval", a.Status, a.DecidedBy, a.DecidedAtMs)
	}
	a.Status, a.DecidedAtMs, a.DecidedBy, a.Note = verbs[l.Verb].status, new(at.UnixMilli()), by, note
	row := snapshot.EncodeApproval(a)
	event, err := Event{Note: note, DecidedBy: by}.At(a.NodeID, a.Iteration, a.Attempt).Encode(run, verbs[l.Verb].event, at.UnixMilli())
	return settled{Receipt{Approval: &a}, row.Key, SetRow(snapshot.CollectionApprovals, row.Key, row.Value), event}, err
}

// answer answers or withdraws a human request at the tip.
func (in *Intake) answer(l Letter, _, by *string, at time.Time) (out settled, err error) {
	h, err := Request(in.rec, l.Place, at)
	if err == nil && l.Verb == Answer {
		h.Response, err = checkAnswer(h, l.Value)
	}
	if err != nil {
		return out, err
	}
	h.Status, h.AnsweredAtMs, h.AnsweredBy = verbs[l.Verb].status, new(at.UnixMilli()), by
	event, err := requestEvent(in.rec.Row().ID, verbs[l.Verb].event, h)
	return settled{Receipt{Request: &h}, snapshot.Key(h.NodeID, h.Iteration), requestChange(h), event}, err
}
