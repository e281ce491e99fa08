package smithers

import (
	"slices"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/stored"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// OvertakenOp is a travel or reset of git-smithers that no longer counts, because Smithers did not know the op and
// continued from one of Smithers' own frames. The frames made after the op stay in the run's history.
type OvertakenOp struct {
	snapshot.Op

	From int64 `json:"from"` // git-smithers' number of the frame from which Smithers continued
}

// takeBack has the ops that a pass takes back, and the frame from which Smithers continues.
type takeBack struct {
	ops  []snapshot.Op // oldest first
	from int64         // git-smithers' number
}

// overtake prepares the undo of travels and resets that git-smithers did in the repository. The undo is necessary
// because Smithers continues from at.End, the last common frame. overtake sets r.overtakes to the result of
// opsHere; the next frame takes these ops back. They include ops that Smithers knows from an export, because a
// later undo of such an op would drop Smithers' newer frames. For the user, overtake adds to r.overtaken the ops
// whose frames leave the run's line.
//
// If opsHere returns no ops, overtake returns at unchanged. Otherwise, in an imported run, the returned meeting
// ends at the result of beforeOps.
func (r *runPass) overtake(at stored.Meeting) (stored.Meeting, error) {
	ops, err := r.opsHere(r.head.Entry())
	if err != nil || len(ops) == 0 {
		return at, err
	}
	if r.imported {
		at.End = r.beforeOps(r.now, at.End, ops)
	}
	before, after := onLine(r.frames, r.head.Row().Frame), onLine(r.frames, at.End)
	for _, op := range ops {
		if before[*op.Frame] && !after[*op.Frame] {
			r.overtaken = append(r.overtaken, OvertakenOp{op, at.End})
		}
	}
	r.overtakes = takeBack{ops, at.End}
	return at, nil
}

// opsHere returns the travels and resets at tip that are not undone, oldest first. It leaves out ops of engines,
// because only ops of git-smithers itself count, and ops without a frame in k.frames.
func (k *keptRun) opsHere(tip *snapshot.Entry) ([]snapshot.Op, error) {
	ops, err := timeline.OpsAt(tip)
	return slices.DeleteFunc(ops, func(op snapshot.Op) bool {
		return !goesBack(op) || op.ByEngine() || op.UndoneBy != 0 || op.Frame == nil || *op.Frame >= int64(len(k.frames))
	}), err
}

// goesBack reports whether op is a travel or a reset. Both set the run's state to an earlier state.
func goesBack(op snapshot.Op) bool {
	return op.Kind == snapshot.OpTravel || op.Kind == snapshot.OpReset
}

// beforeOps returns the number of the frame before the oldest of ops on a line. end is the number of the newest frame
// on the line, and now has Smithers' numbers of frames. beforeOps follows the line back from end to the newest frame
// that Smithers has. If one of ops made a frame on this part, the result is the frame on which the oldest such frame is
// based. Otherwise the result is end.
func (k *keptRun) beforeOps(now *stored.Peer, end int64, ops []snapshot.Op) int64 {
	before := end
	for at := end; at != snapshot.NoFrame && now.PeerNo(at) == tables.NoNumber; at = k.frames[at].Based {
		made := slices.ContainsFunc(ops, func(op snapshot.Op) bool { return *op.Frame == at })
		if made && k.frames[at].Based != snapshot.NoFrame {
			before = k.frames[at].Based
		}
	}
	return before
}

// onLine returns the set of the numbers of the frames on the line that ends at the frame with the number last.
func onLine(frames []stored.Frame, last int64) map[int64]bool {
	on := make(map[int64]bool)
	for _, f := range stored.LineTo(frames, last) {
		on[f.Number] = true
	}
	return on
}

// addTo takes back the ops of o: it adds an undo for each op to draft, marks the op as undone by this undo, and
// then removes the ops from o. draft is the draft of the next frame. frame is the number of the next frame, and
// tip is the entry before it.
func (o *takeBack) addTo(draft *snapshot.Draft, tip *snapshot.Entry, frame int64) error {
	rows, err := tip.Ops()
	if err != nil {
		return err
	}
	number := rows.Len()
	for _, c := range draft.Journal {
		if c.Collection == snapshot.CollectionOps {
			number++
		}
	}
	for _, op := range o.ops {
		number++
		undo := snapshot.Op{
			Number: number, Kind: snapshot.OpUndo, AtMs: draft.AtMs, Before: tip.ID, Frame: &frame,
			To: &o.from, Undoes: op.Number,
		}
		op.UndoneBy = number
		for _, one := range []snapshot.Op{op, undo} {
			draft.Journal = append(draft.Journal, setRow(snapshot.CollectionOps, snapshot.EncodeOp(one)))
		}
	}
	o.ops = nil
	return nil
}

// hidesImported reports whether an undo in the repository hides imported frames. An undo does so if git-smithers
// did it after the last import, and if it undid a travel or a reset from before that import. The run then went
// back to a state before the import, and the imported frames are not in the run's timeline. tip is the run's tip,
// and last is the Pass of the last import.
func hidesImported(objects objstore.Reader, tip *snapshot.Entry, last stored.Pass) (bool, error) {
	ops, err := timeline.OpsAt(tip)
	if err != nil {
		return false, err
	}
	for _, op := range slices.Backward(ops) {
		// The ops are sorted by number. An op from before the last import ends the search, because all lower ops are
		// older.
		since, err := isSince(objects, op, last)
		if err != nil || !since {
			return false, err
		}
		// Ops are numbered from 1 without gaps, so the op that op undid is ops[op.Undoes-1].
		if op.Kind != snapshot.OpUndo || op.ByEngine() || !goesBack(ops[op.Undoes-1]) {
			continue
		}
		if since, err = isSince(objects, ops[op.Undoes-1], last); err != nil || !since {
			return err == nil, err
		}
	}
	return false, nil
}

// isSince reports whether op was done after the import with the Pass last. In this case, the entry before op has this
// Pass. isSince returns false if op.Before is zero.
func isSince(objects objstore.Reader, op snapshot.Op, last stored.Pass) (bool, error) {
	if op.Before.IsZero() {
		return false, nil
	}
	before, err := snapshot.ReadEntry(objects, op.Before)
	if err != nil {
		return false, err
	}
	then, err := stored.ReadPass(before)
	return then == last, err
}
