package share

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
)

// extension describes a new run that consists of existing entries of another run.
type extension struct {
	id      string            // the id of the new run
	subject string            // the subject line of the new run's first entry
	tip     *snapshot.Entry   // the newest of the existing entries
	parent  *snapshot.Parent  // the parent of the new run
	row     snapshot.Run      // the row of the other run at tip
	frames  []refs.FrameRef   // the frames with the new run's numbers, newest first, including frame 0
	events  []snapshot.Event  // the events that the first entry repeats
	journal []snapshot.Change // changes of attempts whose frame numbers differ in the new run
}

// extension returns a description of a new run that begins at parent, a frame of an existing run. The new run
// takes over the entries after parent up to tip. extension sets all fields except id, subject and events, which
// the caller sets.
func (s splitter) extension(ctx context.Context, tip *snapshot.Entry, parent *snapshot.Parent) (*extension, error) {
	own, err := s.store.Frames(ctx, tip, parent.Commit)
	if err != nil {
		return nil, err
	}
	x := &extension{tip: tip, parent: parent, row: own.Row}
	for _, ref := range own.Frames {
		x.frames = append(x.frames, refs.FrameRef{Frame: ref.Frame - parent.Frame, ID: ref.ID})
	}
	x.frames = append(x.frames, refs.FrameRef{Frame: 0, ID: parent.Commit})
	return x, s.renumber(x)
}

// renumber sets x.journal to the changes that give the attempts of x.tip the frame numbers of the new run. An attempt
// whose numbers stay the same needs no change.
func (s splitter) renumber(x *extension) error {
	for was, err := range x.tip.AllAttempts() {
		if err != nil {
			return err
		}
		now, err := x.parent.Renumber(s.store.Objects(), was)
		if err != nil {
			return err
		}
		if row := snapshot.EncodeAttempt(now); !bytes.Equal(row.Value, snapshot.EncodeAttempt(was).Value) {
			x.journal = append(x.journal, snapshot.Change{
				Op: snapshot.OpSet, Collection: snapshot.CollectionAttempts, Key: row.Key, Value: row.Value,
			})
		}
	}
	return nil
}

// eventsAfter returns the events of tip's run that follow the entry with the id lastID, the oldest first. If
// lastID is zero, it returns all events of the run.
//
// The run may be an extension of another run, and lastID may name an entry of this other run. The first entry of
// an extension repeats events of the other run. eventsAfter then returns only those repeated events that follow
// the entry, and the events of the later entries.
func (s splitter) eventsAfter(tip *snapshot.Entry, lastID objstore.ID) ([]snapshot.Event, error) {
	var newestFirst [][]snapshot.Event
	entries := snapshot.NewWalk(s.store.Objects(), tip)
	for {
		entry, err := entries.Next()
		if err != nil {
			return nil, err
		}
		if entry != nil && entry.IsView() && !lastID.IsZero() { // lastID is an entry of the extended run
			again, err := s.eventsAfter(entry.Stored(), lastID)
			if err != nil {
				return nil, err
			}
			// The first own entry has RunForked and then the repeated events. Keep as many of the repeated events
			// as follow lastID in the extended run.
			first := &newestFirst[len(newestFirst)-1]
			*first = (*first)[max(0, len(*first)-len(again)):]
			break
		}
		if entry == nil || entry.IsView() || entry.ID == lastID {
			break
		}
		events, err := entry.Events()
		if err != nil {
			return nil, err
		}
		newestFirst = append(newestFirst, events)
	}
	slices.Reverse(newestFirst)
	return slices.Concat(newestFirst...), nil
}

// write writes the first entry of the new run x to w and returns the entry. The row of the run has no owner. If
// the old run was running, the new run is pending. write sets x.parent.AtMs, and notes in the list of this clone
// that the fork was made here. The data of the entry exists already, so only the limits of the format apply, and
// not the lower limits of this repository.
func (s splitter) write(x *extension, w objstore.Writer) (*snapshot.Entry, error) {
	at := s.store.Now().UnixMilli()
	fork := snapshot.Op{Number: 1, Kind: snapshot.OpFork, AtMs: at}
	s.store.Here().Op(x.id, fork)
	op := snapshot.EncodeOp(fork)
	forked, err := json.Marshal(struct {
		RunID  string `json:"runId"`
		Parent string `json:"parentRunId"`
		Frame  int64  `json:"parentFrameNo"`
	}{x.id, x.parent.RunID, x.parent.Frame})
	if err != nil {
		return nil, err
	}
	x.parent.AtMs = at
	first, err := snapshot.Append(w, snapshot.NewFrameCache(1), x.tip, snapshot.Draft{
		Journal: append([]snapshot.Change{{Op: snapshot.OpSet, Collection: snapshot.CollectionOps, Key: op.Key, Value: op.Value}}, x.journal...),
		Events:  append([]snapshot.Event{{Type: "RunForked", AtMs: at, Payload: forked}}, x.events...),
		Subject: x.subject,
		AtMs:    at,
		Limits:  snapshot.Limits{Depth: math.MaxInt, Key: math.MaxInt, Value: math.MaxInt},
		Run: func(row *snapshot.Run) {
			row.ID, row.Parent, row.CreatedAtMs = x.id, x.parent, at
			row.Epoch, row.Owner = 0, ""
			if row.Status == snapshot.RunRunning { // no process executes the new run
				row.Status = snapshot.RunPending
			}
		},
	})
	if err == nil {
		err = s.store.Inherit(first, x.tip)
	}
	return first, err
}

// updates returns the ref updates that create the new run x: one creates its tip ref with the value tip, the
// others create its frame refs.
func (s splitter) updates(x *extension, tip objstore.ID) ([]refs.Update, error) {
	name, err := refs.Tip(x.id)
	if err != nil {
		return nil, err
	}
	frames, err := s.keptRefs(x.id, x.frames)
	return append([]refs.Update{{Name: name, New: tip}}, frames...), err
}

// keptRefs returns the updates that create refs for the newest of the given frames of run, at most smithers.frameRefs
// updates. frames is sorted, newest first.
func (s splitter) keptRefs(run string, frames []refs.FrameRef) ([]refs.Update, error) {
	frames = frames[:min(int64(len(frames)), s.store.Settings().FrameRefs)]
	updates := make([]refs.Update, len(frames))
	for i, f := range frames {
		name, err := refs.Frame(run, f.Frame)
		if err != nil {
			return nil, err
		}
		updates[i] = refs.Update{Name: name, New: f.ID}
	}
	return updates, nil
}
