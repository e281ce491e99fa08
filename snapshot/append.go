package snapshot

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot/row"
)

// Draft is the input of Append: what the next entry changes. The zero Draft changes nothing.
type Draft struct {
	Frame     *FrameDraft                 // nil means that the entry is not a frame
	Mailbox   []Change                    // changes of the mailbox; every entry may make them
	Journal   []Change                    // rows to set in "attempts", "logs" and "ops"; a removal is an error
	Events    []Event                     // Append assigns their Seq
	Ext       *ExtDraft                   // nil leaves ext/ unchanged
	Run       func(*Run)                  // edits the run's row; nil leaves it unchanged
	VCS       *VCS                        // nil leaves vcs.json unchanged; its trees become worktree/ and worktrees/
	Objects   func(objstore.Writer) error // adds the objects of VCS's trees that the store lacks; may be nil
	Workflow  *Workflow                   // nil leaves it unchanged; otherwise Append sets the row's WorkflowHash
	Subject   string                      // Append shortens it to one line
	AtMs      int64
	Operation string      // see Header
	Base      objstore.ID // only for a run's first entry
	Limits    Limits      // the zero Limits are the defaults
}

// FrameDraft has the changes that only a frame can make. The zero FrameDraft is a frame with the state of the
// previous entry.
type FrameDraft struct {
	State    []Change        // changes of the state, the mailbox included
	Restore  *State          // the state to which State and Mailbox apply; nil means the previous entry's
	Based    *int64          // see Header
	Rendered json.RawMessage // the rendered workflow tree; nil leaves it unchanged
	Silent   bool            // omits the event SnapshotCaptured, which is otherwise the frame's last event
}

// StateChanges returns the changes of the state, followed by those of the mailbox.
func (d *Draft) StateChanges() []Change {
	switch {
	case d.Frame == nil:
		return d.Mailbox
	case len(d.Mailbox) == 0:
		return d.Frame.State
	}
	return slices.Concat(d.Frame.State, d.Mailbox)
}

// Append builds the entry that follows prev and writes its objects to w, the commit last. prev is nil for the
// first entry of a run; draft.Run then fills in the run's row. w must be able to read everything that prev and
// draft.Frame.Restore read. frames reconstructs prev's rendered tree. The returned entry equals ReadEntry's and
// reads through w.
//
// Append sets the row's Frame and NextSeq, whatever draft.Run does to them. Both begin at 0 in the first entry of
// a run and in the first entry of a fork, where draft.Run changes the run's id. Otherwise they continue from prev.
// The first entry of a run must be a frame. The first entry of a fork may leave out the frame if prev itself is
// the fork's frame 0. If the fork has an extension, its first entry must follow the extension and must not be a
// frame; its row's Frame is prev's minus Parent.Frame.
//
// If the error wraps ErrInvalid, the draft cannot be stored. After any error, the objects written to w are
// useless.
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

// appender holds the inputs and intermediate results of one Append.
type appender struct {
	w      objstore.Writer
	frames *FrameCache
	prev   *Entry
	draft  Draft
	next   *Entry

	stored storedDraft
	before Run  // prev's row
	run    Run  // next's row
	fork   bool // next begins a new run, forked from prev's
	parts  []objstore.TreeEntry
}

// put sets the object of a name in the entry's tree. The zero id removes the name.
func (a *appender) put(name string, id objstore.ID) {
	a.parts = slices.DeleteFunc(a.parts, func(e objstore.TreeEntry) bool { return e.Name == name })
	if mode, known := partMode(name); known && !id.IsZero() {
		a.parts = append(a.parts, objstore.TreeEntry{Name: name, Mode: mode, ID: id})
	}
}

// base copies the tree and the run's row of prev.
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

// numberEntry sets the entry's frame number and its header.
func (a *appender) numberEntry() error {
	a.fork = a.prev != nil && a.run.ID != a.before.ID
	switch {
	case a.prev == nil && a.draft.Frame == nil:
		return invalid("the first entry of a run must be a frame")
	case a.prev != nil && a.prev.IsView() && (!a.fork || a.run.ID == a.prev.stored().Run):
		return invalid("only a fork can follow an entry of an extension")
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

// extend sets the frame number in the first entry of a fork with an extension. It does nothing for other entries.
func (a *appender) extend() error {
	p := a.run.Parent
	if p == nil || p.Extension.IsZero() {
		return nil
	}
	a.run.Frame = a.before.Frame - p.Frame
	if !a.fork || a.draft.Frame != nil || a.prev.IsView() || p.Extension != a.prev.ID || a.run.Frame < 0 {
		return invalid("the first entry of a fork with an extension must follow the extension and not be a frame")
	}
	return nil
}

// takeIn validates the draft and converts it to its stored form, before any step writes an object.
func (a *appender) takeIn() (err error) {
	in := intake{a.next.known, a.draft.Limits}
	a.run = in.run(a.before, a.draft.Run)
	a.stored, err = in.draft(&a.draft)
	return err
}

// writeState applies the draft's changes to the state. The content hash is computed only if the state without the
// mailbox has changed.
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

// writeJournal applies the draft's changes to the journal. A fork begins without the collections that belong to
// one run.
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

// takenOver returns the collections with which a fork begins: those that belong to one run are empty. anew reports
// whether any of them had rows.
func (s rowSet) takenOver() (taken rowSet, anew bool) {
	taken = slices.Clone(s)
	for i := range taken {
		if taken[i].of.ownToRun && taken[i].Len() > 0 {
			taken[i].Collection, anew = emptyCollection(), true
		}
	}
	return taken, anew
}

// putJournal sets the journal's tree in the entry. Empty collections are not stored.
func (a *appender) putJournal(j rowSet) {
	entries := j.entries()
	if len(entries) == 0 {
		a.put(journalName, objstore.ID{})
		return
	}
	a.put(journalName, a.w.Add(objstore.Tree, objstore.EncodeTree(entries)))
}

// writeFrame stores the rendered tree. The blob in the entry stays if the tree is unchanged.
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

// writeEvents numbers and stores the entry's events.
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

// putFile stores a file of the entry. It refuses a file that is too large to be read back.
func (a *appender) putFile(name string, data []byte, most int) error {
	if len(data) > most {
		return fmt.Errorf("%w: %s of %d bytes, at most %d are kept", ErrLimit, name, len(data), most)
	}
	a.put(name, a.w.Add(objstore.Blob, data))
	return nil
}

// events returns the draft's events and, unless the frame is silent, the event with its number and content hash.
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

// writeCommit stores the entry's tree, then its commit.
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
