package smithers

import (
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/peer/smithers/kept"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Overtaken is a travel or reset of git-smithers that no longer counts, because Smithers did not know the op and
// continued from one of Smithers' own frames. The frames made after the op stay in the run's history.
type Overtaken struct {
	snapshot.Op

	From int64 `json:"from"` // git-smithers' number of the frame from which Smithers continued
}

// takeBack has the ops that a pass takes back, and the frame from which Smithers continues.
type takeBack struct {
	ops  []snapshot.Op // oldest first
	from int64         // git-smithers' number
}

// overtake prepares the undo of git-smithers' travels and resets, because Smithers continues from at.End, the
// last common frame. It sets r.overtakes to the ops of opsHere, which the next frame takes back. These ops
// include ops that Smithers knows from an export: a later undo of such an op would drop Smithers' newer frames.
// overtake adds the ops whose frames leave the run's line to r.overtaken, for the user.
//
// If opsHere returns no ops, overtake returns at unchanged. Otherwise, in an imported run, the returned meeting
// ends at the result of beforeOps.
func (r *runPass) overtake(at kept.Meeting) (kept.Meeting, error) {
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
			r.overtaken = append(r.overtaken, Overtaken{op, at.End})
		}
	}
	r.overtakes = takeBack{ops, at.End}
	return at, nil
}

// opsHere returns the travels and resets at tip that git-smithers did and that are not undone, oldest first. It
// leaves out ops of engines, and ops without a frame in k.frames.
func (k *keptRun) opsHere(tip *snapshot.Entry) ([]snapshot.Op, error) {
	ops, err := timeline.OpsAt(tip)
	return slices.DeleteFunc(ops, func(op snapshot.Op) bool {
		return !goesBack(op) || op.ByEngine() || op.UndoneBy != 0 || op.Frame == nil || *op.Frame >= int64(len(k.frames))
	}), err
}

// goesBack reports whether op is a travel or a reset, which set the run's state back.
func goesBack(op snapshot.Op) bool {
	return op.Kind == snapshot.OpTravel || op.Kind == snapshot.OpReset
}

// beforeOps returns the number of the frame that the run had before the oldest of ops: the frame on which the
// op's frame is based. end is the number of the newest frame of a line. Only ops count whose frames are on this
// line, after the newest frame on the line that Smithers has. If no such op exists, the result is end. now has
// Smithers' numbers of frames.
func (k *keptRun) beforeOps(now *kept.Peer, end int64, ops []snapshot.Op) int64 {
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
func onLine(frames []kept.Frame, last int64) map[int64]bool {
	on := make(map[int64]bool)
	for _, f := range kept.LineTo(frames, last) {
		on[f.Number] = true
	}
	return on
}

// addTo adds an undo for each op of o to draft, marks each op as undone by this undo, and then removes the ops
// from o. draft is the draft of the next frame, frame is the frame's number, and tip is the entry before the
// frame.
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

// hidesImported reports whether an undo in the repository hides imported frames: git-smithers undid a travel or
// reset after the last import, and the travel or reset was done before that import. The run then went back to a
// state before the import, and the imported frames are not in the run's timeline. tip is the run's tip, and last
// is the Pass of the last import.
func hidesImported(objects objstore.Reader, tip *snapshot.Entry, last kept.Pass) (bool, error) {
	ops, err := timeline.OpsAt(tip)
	if err != nil {
		return false, err
	}
	for _, op := range slices.Backward(ops) {
		since, err := isSince(objects, op, last)
		if err != nil || !since {
			return false, err
		}
		if op.Kind != snapshot.OpUndo || op.ByEngine() || !goesBack(ops[op.Undoes-1]) {
			continue
		}
		if since, err = isSince(objects, ops[op.Undoes-1], last); err != nil || !since {
			return err == nil, err
		}
	}
	return false, nil
}

// isSince reports whether op was done after the import with the Pass last. It returns false if op does not name the
// entry before the op.
func isSince(objects objstore.Reader, op snapshot.Op, last kept.Pass) (bool, error) {
	if op.Before.IsZero() {
		return false, nil
	}
	before, err := snapshot.ReadEntry(objects, op.Before)
	if err != nil {
		return false, err
	}
	then, err := kept.ReadPass(before)
	return then == last, err
}
