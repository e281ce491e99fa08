package snapshot

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot/row"
)

// Draft is what the next entry changes. The zero Draft changes nothing.
type Draft struct {
	Frame     *FrameDraft                 // what only a frame changes; nil: the entry is not a frame
	Mailbox   []Change                    // changes of the mailbox, which every entry may make
	Journal   []Change                    // collections "attempts", "logs" and "ops"; nothing is ever removed from them
	Events    []Event                     // their Seq is assigned
	Ext       *ExtDraft                   // nil: ext/ as before
	Run       func(*Run)                  // edits the run's row; nil: as before
	VCS       *VCS                        // nil: as before; its trees become worktree/ and worktrees/
	Objects   func(objstore.Writer) error // adds the objects of VCS's trees that the store does not have; nil: none
	Workflow  *Workflow                   // nil: as before; sets the row's WorkflowHash
	Subject   string                      // made to fit one line
	AtMs      int64
	Operation string      // see Header
	Base      objstore.ID // only for a run's first entry
	Limits    Limits      // the zero Limits are the default ones
}

// FrameDraft is what only a frame changes. The zero FrameDraft is a frame with the state of the entry before.
type FrameDraft struct {
	State    []Change        // changes of the state, the mailbox included
	Restore  *State          // the state that State and Mailbox change; nil: the state of the entry before
	Based    *int64          // see Header
	Rendered json.RawMessage // the rendered workflow tree; nil: as before
	Silent   bool            // the frame has no event SnapshotCaptured; otherwise its last event tells its number and content hash
}

// StateChanges returns the changes of the state, with those of the mailbox.
func (d *Draft) StateChanges() []Change {
	switch {
	case d.Frame == nil:
		return d.Mailbox
	case len(d.Mailbox) == 0:
		return d.Frame.State
	}
	return slices.Concat(d.Frame.State, d.Mailbox)
}

// Append builds the entry that follows prev (nil for a run's first, whose row
// draft.Run fills in) and writes its objects to w, the commit last. w must be able
// to read what prev and draft.Frame.Restore read. frames reconstructs prev's rendered tree. The result is
// what ReadEntry would return for it; it reads through w.
//
// Numbers are not draft.Run's to choose: the frame is 0 and events count from 0 in a
// run's first entry, and where draft.Run changes the run's id, which is a fork;
// otherwise they go on from prev. A run's first entry must be a frame; a fork's need not
// be, when its frame 0 is prev itself. One with an extension begins with no frame, after
// the extension, and its frame is that of prev, less that of the parent.
//
// An error that wraps ErrInvalid means that the draft cannot be stored. What w
// was given before an error is of no use.
func Append(w objstore.Writer, frames *FrameCache, prev *Entry, draft Draft) (*Entry, error) {
	known := registered
	if prev != nil {
		known = prev.known
	}
	return known.append(w, frames, prev, draft)
}

func (known registry) append(w objstore.Writer, frames *FrameCache, prev *Entry, draft Draft) (*Entry, error) {
	a := appender{w: w, frames: frames, prev: prev, draft: draft, next: &Entry{r: w, known: known}}
	steps := []func() error{a.base, a.takeIn, a.numberEntry, a.writeState, a.writeJournal, a.writeFrame, a.writeEvents, a.writeVCS, a.writeExt, a.writeWorkflow, a.writeRun}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, fmt.Errorf("append to run %q: %w", a.run.ID, err)
		}
	}
	return a.writeCommit()
}

// appender is the work of one Append.
type appender struct {
	w      objstore.Writer
	frames *FrameCache
	prev   *Entry
	draft  Draft
	next   *Entry

	stored storedDraft
	before Run  // of prev
	run    Run  // of next
	fork   bool // next is the first entry of another run than prev's
	parts  []objstore.TreeEntry
}

// put makes id what a name in the entry's tree stands for; the zero id takes the name away.
func (a *appender) put(name string, id objstore.ID) {
	a.parts = slices.DeleteFunc(a.parts, func(e objstore.TreeEntry) bool { return e.Name == name })
	if mode, known := partMode(name); known && !id.IsZero() {
		a.parts = append(a.parts, objstore.TreeEntry{Name: name, Mode: mode, ID: id})
	}
}

// base starts from what prev has.
func (a *appender) base() error {
	if a.prev == nil {
		return nil
	}
	parts, err := a.prev.parts()
	if err != nil {
		return err
	}
	a.parts = slices.Clone(parts)
	a.before, err = a.prev.RunRow()
	return err
}

// numberEntry gives the entry its number and its header.
func (a *appender) numberEntry() error {
	a.fork = a.prev != nil && a.run.ID != a.before.ID
	switch {
	case a.prev == nil && a.draft.Frame == nil:
		return invalid("a run's first entry is a frame")
	case a.prev != nil && a.prev.IsView() && (!a.fork || a.run.ID == a.prev.stored().Run):
		return invalid("nothing but a fork follows a view")
	case a.prev == nil || a.fork:
		a.run.Frame, a.run.NextSeq = 0, 0
		if err := a.extend(); err != nil {
			return err
		}
	default:
		a.run.Frame, a.run.NextSeq = a.before.Frame, a.before.NextSeq
		if a.draft.Frame != nil {
			a.run.Frame++
		}
	}
	a.next.Header = Header{
		Run: a.run.ID, Frame: NoFrame, AtMs: a.draft.AtMs, Subject: a.stored.subject,
		Operation: a.stored.operation, Base: a.draft.Base,
	}
	if f := a.draft.Frame; f != nil {
		a.next.Frame = a.run.Frame
		if based := f.Based; based != nil && *based != a.run.Frame-1 {
			a.next.Based = new(*based)
		}
	}
	if a.prev != nil {
		a.next.Parent, a.next.VCS = a.prev.ID, a.prev.VCS
	}
	return nil
}

// extend numbers the first entry of a fork that goes on from an extension.
func (a *appender) extend() error {
	p := a.run.Parent
	if p == nil || p.Extension.IsZero() {
		return nil
	}
	a.run.Frame = a.before.Frame - p.Frame
	if !a.fork || a.draft.Frame != nil || a.prev.IsView() || p.Extension != a.prev.ID || a.run.Frame < 0 {
		return invalid("an extension is followed by an entry that is no frame")
	}
	return nil
}

// takeIn takes in the draft. Nothing of the draft is written before.
func (a *appender) takeIn() (err error) {
	in := intake{a.next.known, a.draft.Limits}
	a.run = in.run(a.before, a.draft.Run)
	a.stored, err = in.draft(&a.draft)
	return err
}

func (a *appender) writeState() error {
	before := a.next.known.emptyState()
	if a.prev != nil {
		var err error
		if before, err = a.prev.State(); err != nil {
			return err
		}
	}
	base := before
	if f := a.draft.Frame; f != nil && f.Restore != nil {
		base = f.Restore
	}
	state, err := base.edit(a.w, a.stored.state)
	if err != nil {
		return err
	}
	a.next.state.set(state)
	a.put(stateName, state.ID())
	if a.prev != nil && SameCore(state, before) {
		a.next.ContentHash = a.prev.ContentHash
		return nil
	}
	a.next.ContentHash, err = state.ContentHash()
	return err
}

func (a *appender) writeJournal() error {
	before := a.next.known.empty(inJournal)
	if a.prev != nil {
		var err error
		if before, err = a.prev.readJournal(); err != nil {
			return err
		}
	}
	anew := false
	if a.fork {
		before, anew = before.takenOver()
	}
	after, err := before.edit(a.w, a.stored.journal)
	if err != nil {
		return err
	}
	a.next.journal.set(after)
	if len(a.draft.Journal) > 0 || anew {
		a.putJournal(after)
	}
	return nil
}

// takenOver returns the collections that a fork begins with, and whether any is not the parent's.
func (s rowSet) takenOver() (taken rowSet, anew bool) {
	taken = slices.Clone(s)
	for i := range taken {
		if taken[i].of.ownToRun && taken[i].Len() > 0 {
			taken[i].Collection, anew = emptyCollection(), true
		}
	}
	return taken, anew
}

// putJournal makes a journal part of the entry's tree: its collections that are not empty.
func (a *appender) putJournal(j rowSet) {
	entries := j.entries()
	if len(entries) == 0 {
		a.put(journalName, objstore.ID{})
		return
	}
	a.put(journalName, a.w.Add(objstore.Tree, objstore.EncodeTree(entries)))
}

// writeFrame leaves the frame as it is where the rendered tree has not changed.
func (a *appender) writeFrame() error {
	f := a.draft.Frame
	if f == nil || f.Rendered == nil {
		return nil
	}
	var before objstore.ID
	if a.prev != nil {
		var err error
		if before, err = a.prev.part(frameName); err != nil {
			return err
		}
	}
	id, err := a.frames.known().Write(a.w, before, f.Rendered, intake{a.next.known, a.draft.Limits}.rendered)
	if err != nil {
		return err
	}
	a.put(frameName, id)
	return nil
}

func (a *appender) writeEvents() error {
	events := a.events()
	for i := range events {
		events[i].Seq = a.run.NextSeq + int64(i)
	}
	a.run.NextSeq += int64(len(events))
	a.next.events.set(events)
	if len(events) == 0 {
		a.put(eventsName, objstore.ID{})
		return nil
	}
	return a.putFile(eventsName, encodeEvents(events), maxEvents)
}

// putFile gives the entry a file, unless it is larger than one that is read.
func (a *appender) putFile(name string, data []byte, most int) error {
	if len(data) > most {
		return fmt.Errorf("%w: %s of %d bytes, at most %d are kept", ErrLimit, name, len(data), most)
	}
	a.put(name, a.w.Add(objstore.Blob, data))
	return nil
}

// events are what the entry says has happened.
func (a *appender) events() []Event {
	if a.draft.Frame == nil || a.draft.Frame.Silent {
		return a.stored.events
	}
	payload := row.AppendText([]byte{'{'}, "runId", a.run.ID)
	payload = row.AppendInt(payload, "frameNo", a.run.Frame)
	payload = row.AppendText(payload, "contentHash", a.next.ContentHash.String())
	return append(a.stored.events, Event{
		Type: eventCaptured, AtMs: a.draft.AtMs, Payload: append(payload, '}'),
	})
}

func (a *appender) writeWorkflow() error {
	if w := a.stored.workflow; w != nil {
		a.run.WorkflowHash = w.Hash()
		a.put(workflowName, w.write(a.w))
	}
	return nil
}

func (a *appender) writeRun() error {
	if err := a.run.check(); err != nil {
		return invalid("run row: %w", err)
	}
	a.next.run.set(a.run.clone())
	return a.putFile(runName, encodeRun(a.run), maxDocument)
}

// writeCommit writes the entry's tree and then its commit.
func (a *appender) writeCommit() (*Entry, error) {
	slices.SortFunc(a.parts, objstore.TreeEntry.Compare)
	a.next.root.set(a.parts)
	a.next.Tree = a.w.Add(objstore.Tree, objstore.EncodeTree(a.parts))
	if err := a.next.check(); err != nil {
		return nil, invalid("append to run %q: %w", a.run.ID, err)
	}
	a.next.ID = a.w.Add(objstore.Commit, EncodeHeader(a.next.Header))
	return a.next, nil
}
