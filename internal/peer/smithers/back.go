package smithers

import (
	"context"
	"fmt"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/stored"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/snapshot"
)

// goBack appends a frame that takes the run back to an earlier frame, because Smithers rewound the run. Only
// the first at.Count frames in Smithers' list are in the repository. The new frame has the state of frame
// at.End. If Smithers never had at.End, goBack follows the frames on which at.End is based, up to a frame that
// Smithers had or to the run's first frame, and takes the state of that frame.
//
// The new frame records a travel. The travel has the time of Smithers' rewind if the database has the rewind's
// event, and otherwise the time of the newest entry. goBack records that Smithers does not have the new frame.
// It sets r.out.Rewound to true, and sets r.ours to the tree of the earlier frame.
func (r *runPass) goBack(ctx context.Context, at stored.Meeting) error {
	to := at.End
	for r.now.PeerNo(to) == tables.NoNumber && r.frames[to].Based != snapshot.NoFrame {
		to = r.frames[to].Based // skip frames that Smithers never had, such as the frame of an earlier rewind
	}
	var no int64 // Smithers' number of the frame; 0 if Smithers began the run anew
	if at.Count > 0 {
		no = r.Heads[at.Count-1].Frame
	}
	then := r.frames[to].Entry
	state, err := then.State()
	if err != nil {
		return err
	}
	rendered, err := r.im.store.Rendered(then)
	if err != nil {
		return err
	}
	ops, err := r.entry.Ops()
	if err != nil {
		return err
	}
	atMs, upTo, jumped := r.Events.Jump(r.behind)
	if !jumped {
		atMs, upTo = r.entry.AtMs, r.behind // the database does not have the rewind's event
	}
	op := snapshot.Op{
		Number: ops.Len() + 1, Kind: snapshot.OpTravel, AtMs: atMs, Before: r.entry.ID, Frame: new(r.next()), To: &to,
	}
	draft := snapshot.Draft{
		Frame:   &snapshot.FrameDraft{Silent: true, Restore: state, Based: &to, Rendered: rendered},
		AtMs:    atMs,
		Journal: []snapshot.Change{setRow(snapshot.CollectionOps, snapshot.EncodeOp(op))},
		Events:  r.eventsOf(r.Run, upTo, nil), Run: r.During(""), Subject: fmt.Sprintf("rewound to %d", no), Limits: r.im.limits,
	}
	number := r.next()
	if err := r.append(ctx, draft, upTo); err != nil {
		return err
	}
	r.setFrameRow(number, stored.FrameRow{PeerNo: new(int64(tables.NoNumber))})
	r.out.Rewound = true
	r.ours, err = treeOf(r.im.store, then)
	return err
}

// goForward appends a frame that takes the run to at.End, Smithers' newest frame, after an undo in the
// repository took the run to an earlier state. It records that Smithers does not have the new frame, and sets
// r.ours to the tree of at.End.
func (r *runPass) goForward(ctx context.Context, at stored.Meeting) error {
	then := r.frames[at.End].Entry
	state, err := then.State()
	if err != nil {
		return err
	}
	rendered, err := r.im.store.Rendered(then)
	if err != nil {
		return err
	}
	draft := snapshot.Draft{
		Frame: &snapshot.FrameDraft{Silent: true, Restore: state, Based: &at.End, Rendered: rendered},
		AtMs:  r.entry.AtMs,
		Run:   r.During(""), Subject: fmt.Sprintf("back to frame %d, as Smithers has it", at.End), Limits: r.im.limits,
	}
	number := r.next()
	if err := r.append(ctx, draft, r.behind); err != nil {
		return err
	}
	r.setFrameRow(number, stored.FrameRow{PeerNo: new(int64(tables.NoNumber))})
	r.ours, err = treeOf(r.im.store, then)
	return err
}
