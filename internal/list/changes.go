package list

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// maxChanges is the number of rows that a frame's changes list. A frame of another engine can change any number of rows.
const maxChanges = 1000

// Changes is what a frame has changed in the state of its run: keys and new states, without contents. No list is nil.
type Changes struct {
	Nodes    []NodeChange   `json:"nodes"`
	Outputs  []OutputChange `json:"outputs"`
	Loops    []LoopChange   `json:"loops"`
	Mailbox  []MailChange   `json:"mailbox"`            // without signals
	Signals  []SignalChange `json:"signals"`            // that have arrived
	Input    bool           `json:"input"`              // the run's input has changed
	Unlisted int            `json:"unlisted,omitempty"` // how many rows the lists lack, because a frame lists at most maxChanges
}

// NodeChange is a node that the frame has added, changed or removed. A state is nil if the node is not there.
type NodeChange struct {
	NodeID    string              `json:"nodeId"`
	Iteration int                 `json:"iteration"`
	From      *snapshot.NodeState `json:"from"`
	To        *snapshot.NodeState `json:"to"`
}

// OutputChange is an output row that the frame has added, changed or removed.
type OutputChange struct {
	Table     string `json:"table"`
	NodeID    string `json:"nodeId"`
	Iteration int    `json:"iteration"`
	Op        string `json:"op"` // add, modify or remove
}

// LoopChange is a loop that has begun, advanced, ended, or was removed. To is nil if the loop is not there any more.
type LoopChange struct {
	RalphID string    `json:"ralphId"`
	To      *LoopInfo `json:"to"`
}

// LoopInfo says how far a loop is.
type LoopInfo struct {
	Iteration int  `json:"iteration"`
	Done      bool `json:"done"`
}

// MailChange is an approval, a human request or a wait that the frame has added, changed or removed. A status is nil if
// the row is not there.
type MailChange struct {
	Collection string  `json:"collection"` // approvals, human-requests or waits
	NodeID     string  `json:"nodeId"`
	Iteration  int     `json:"iteration"`
	From       *string `json:"from"`
	To         *string `json:"to"`
}

// SignalChange is a signal that has arrived.
type SignalChange struct {
	Seq  int64  `json:"seq"`
	Name string `json:"name"`
}

// ChangesOf returns what each frame of run has changed, in the order of the frames, compared with the frame on which it is
// based or, for the first frame of a fork, with the frame from which the run was forked. The changes of a frame are nil if
// the frame or the one before it cannot be read: a warning says why. ChangesOf reads the states of all frames. The error is
// that of ctx.
func ChangesOf(ctx context.Context, s *timeline.Store, run *RunTimeline) ([]*Changes, error) {
	r := stateReader{store: s, read: make(map[int64]*snapshot.State)}
	out := make([]*Changes, len(run.Frames))
	for i, f := range run.Frames {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		changes, err := r.changes(ctx, run, i)
		if err != nil {
			s.Warn(fmt.Errorf("the changes of %s cannot be read: %w", timeline.Address{Run: run.RunID, Frame: f.FrameNo}, timeline.Explain(err)))
			continue
		}
		out[i] = changes
	}
	return out, nil
}

// stateReader reads the states of frames. Most frames are based on the frame before, whose state it keeps.
type stateReader struct {
	store *timeline.Store
	read  map[int64]*snapshot.State // the state that was read last, by the number of its frame
}

// changes returns the changes of the frame with the index i in run.Frames.
func (r *stateReader) changes(ctx context.Context, run *RunTimeline, i int) (*Changes, error) {
	f := run.Frames[i]
	before, err := r.before(ctx, run, i)
	if err != nil {
		return nil, err
	}
	after, err := r.state(f)
	if err != nil {
		return nil, err
	}
	return ChangesBetween(before, after)
}

// ChangesBetween returns what differs between two states.
func ChangesBetween(before, after *snapshot.State) (*Changes, error) {
	c := &Changes{Nodes: []NodeChange{}, Outputs: []OutputChange{}, Loops: []LoopChange{}, Mailbox: []MailChange{}, Signals: []SignalChange{}}
	if before.ID() == after.ID() {
		return c, nil
	}
	for _, add := range []func(before, after *snapshot.State) error{c.addNodes, c.addOutputs, c.addLoops, c.addMail, c.addSignals, c.addInput} {
		if err := add(before, after); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// before returns the state with which the frame with the index i in run.Frames is compared.
func (r *stateReader) before(ctx context.Context, run *RunTimeline, i int) (*snapshot.State, error) {
	f := run.Frames[i]
	if f.BasedOn != nil {
		if state, ok := r.read[*f.BasedOn]; ok {
			return state, nil
		}
		if based := run.frameBefore(i, *f.BasedOn); based != nil {
			return r.state(*based)
		}
		at, err := r.store.At(ctx, timeline.Address{Run: run.RunID, Frame: *f.BasedOn}) // the frame is not shown
		if err != nil {
			return nil, err
		}
		return at.Entry.State()
	}
	if run.Branch == nil {
		return snapshot.EmptyState(), nil
	}
	head, err := r.store.Head(ctx, run.RunID)
	if err != nil {
		return nil, err
	}
	if head.Row().Parent == nil {
		return snapshot.EmptyState(), nil
	}
	return r.open(head.Row().Parent.Commit)
}

// state returns the state at a frame, and keeps it until it reads another one.
func (r *stateReader) state(f FrameInfo) (*snapshot.State, error) {
	if state, ok := r.read[f.FrameNo]; ok {
		return state, nil
	}
	id, err := objstore.ParseID(f.Commit)
	if err != nil {
		return nil, err
	}
	state, err := r.open(id)
	if err == nil {
		clear(r.read)
		r.read[f.FrameNo] = state
	}
	return state, err
}

// open reads the state of an entry.
func (r *stateReader) open(id objstore.ID) (*snapshot.State, error) {
	entry, err := snapshot.ReadEntry(r.store.Objects(), id)
	if err != nil {
		return nil, err
	}
	return entry.State()
}

// AttemptsBetween returns the attempts that an entry has, and the entry before lacks or has in another state.
func AttemptsBetween(before, after *snapshot.Entry) (out []snapshot.Attempt, err error) {
	was, err := before.Attempts()
	if err != nil {
		return nil, err
	}
	now, err := after.Attempts()
	if err != nil {
		return nil, err
	}
	err = eachChange(was, now, snapshot.DecodeAttempt, func(_ string, _, to *snapshot.Attempt) {
		if to != nil {
			out = append(out, *to)
		}
	})
	return out, err
}

// full counts a row in Unlisted and returns true if c lists maxChanges rows.
func (c *Changes) full() bool {
	if len(c.Nodes)+len(c.Outputs)+len(c.Loops)+len(c.Mailbox)+len(c.Signals) < maxChanges {
		return false
	}
	c.Unlisted++
	return true
}

// eachChange calls f with each row that differs between two collections, before and after. A row that is not there is nil.
func eachChange[T any](a, b *page.Collection, decode func(page.Row) (T, error), f func(key string, from, to *T)) error {
	for delta, err := range page.Diff(a, b) {
		if err != nil {
			return err
		}
		var rows [2]*T
		for i, value := range [][]byte{delta.From, delta.To} {
			if value == nil {
				continue
			}
			row, err := decode(page.Row{Key: delta.Key, Value: value})
			if err != nil {
				return err
			}
			rows[i] = &row
		}
		f(delta.Key, rows[0], rows[1])
	}
	return nil
}

// addNodes adds the nodes that differ.
func (c *Changes) addNodes(before, after *snapshot.State) error {
	return eachChange(before.Nodes(), after.Nodes(), snapshot.DecodeNode, func(_ string, from, to *snapshot.Node) {
		if c.full() {
			return
		}
		is := cmp.Or(to, from)
		change := NodeChange{NodeID: is.NodeID, Iteration: is.Iteration}
		if from != nil {
			change.From = &from.State
		}
		if to != nil {
			change.To = &to.State
		}
		c.Nodes = append(c.Nodes, change)
	})
}

// addOutputs adds the output rows that differ.
func (c *Changes) addOutputs(before, after *snapshot.State) error {
	tables := slices.Concat(before.Tables(), after.Tables())
	slices.Sort(tables)
	for _, table := range slices.Compact(tables) {
		for delta, err := range page.Diff(before.Outputs(table), after.Outputs(table)) {
			if err != nil {
				return err
			}
			if c.full() {
				continue
			}
			change := OutputChange{Table: table, Op: jjbridge.OpModify}
			if change.NodeID, change.Iteration, err = snapshot.SplitKey(delta.Key); err != nil {
				return err
			}
			switch {
			case delta.From == nil:
				change.Op = jjbridge.OpAdd
			case delta.To == nil:
				change.Op = jjbridge.OpRemove
			}
			c.Outputs = append(c.Outputs, change)
		}
	}
	return nil
}

// addLoops adds the loops that differ.
func (c *Changes) addLoops(before, after *snapshot.State) error {
	return eachChange(before.Loops(), after.Loops(), snapshot.DecodeLoop, func(key string, _, to *snapshot.Loop) {
		if c.full() {
			return
		}
		change := LoopChange{RalphID: key}
		if to != nil {
			change.To = &LoopInfo{to.Iteration, to.Done}
		}
		c.Loops = append(c.Loops, change)
	})
}

// mailRow is what approvals, human requests and waits have in common.
type mailRow struct {
	node      string
	iteration int
	status    string
}

// addMail adds the approvals, human requests and waits that differ.
func (c *Changes) addMail(before, after *snapshot.State) error {
	for _, collection := range []struct {
		name   string
		a, b   *page.Collection
		decode func(page.Row) (mailRow, error)
	}{
		{snapshot.CollectionApprovals, before.Approvals(), after.Approvals(), func(row page.Row) (mailRow, error) {
			a, err := snapshot.DecodeApproval(row)
			return mailRow{a.NodeID, a.Iteration, a.Status}, err
		}},
		{snapshot.CollectionHumanRequests, before.HumanRequests(), after.HumanRequests(), func(row page.Row) (mailRow, error) {
			h, err := snapshot.DecodeHumanRequest(row)
			return mailRow{h.NodeID, h.Iteration, h.Status}, err
		}},
		{snapshot.CollectionWaits, before.Waits(), after.Waits(), func(row page.Row) (mailRow, error) {
			w, err := snapshot.DecodeWait(row)
			return mailRow{w.NodeID, w.Iteration, w.Status}, err
		}},
	} {
		err := eachChange(collection.a, collection.b, collection.decode, func(_ string, from, to *mailRow) {
			if c.full() {
				return
			}
			is := cmp.Or(to, from)
			change := MailChange{Collection: collection.name, NodeID: is.node, Iteration: is.iteration}
			if from != nil {
				change.From = &from.status
			}
			if to != nil {
				change.To = &to.status
			}
			c.Mailbox = append(c.Mailbox, change)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// addSignals adds the signals that have arrived.
func (c *Changes) addSignals(before, after *snapshot.State) error {
	return eachChange(before.Signals(), after.Signals(), snapshot.DecodeSignal, func(_ string, _, to *snapshot.Signal) {
		if to != nil && !c.full() {
			c.Signals = append(c.Signals, SignalChange{to.Seq, to.Name})
		}
	})
}

// addInput sets Input.
func (c *Changes) addInput(before, after *snapshot.State) error {
	c.Input = before.InputID() != after.InputID()
	return nil
}
