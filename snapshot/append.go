package snapshot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
)

// Draft is the input of Append: the changes that the next entry makes. The zero Draft changes nothing.
type Draft struct {
	Frame     *FrameDraft                 // nil means that the entry is not a frame
	Afresh    bool                        // the journal of a fork begins empty; ignored in other entries
	Mailbox   []Change                    // changes of the mailbox, in an entry of any kind
	Journal   []Change                    // rows to set in the journal's collections; a removal is an error
	Events    []Event                     // the entry's events, in order; Append assigns each Seq
	Ext       *ExtDraft                   // changes of one other engine's data; nil leaves ext/ unchanged
	Run       func(*Run)                  // edits the run's row in place; nil leaves the row unchanged
	Earlier   *Run                        // the row of an earlier entry whose error Run may set again; may be nil
	VCS       *VCS                        // the captured working copy; nil leaves vcs.json, worktree/ and worktrees/ unchanged
	Objects   func(objstore.Writer) error // adds the missing objects of VCS's trees if vcs.json changes; may be nil
	Workflow  *Workflow                   // nil leaves the workflow unchanged; otherwise Append also sets the row's WorkflowHash
	Subject   string                      // Append reduces the subject to one line of at most 200 bytes
	AtMs      int64                       // the time of the entry, in milliseconds since 1970
	Operation string                      // the id of the append; see Header.Operation
	Base      objstore.ID                 // a parent commit outside the chain, only for a run's first entry; see Header.Base
	Limits    Limits                      // the zero Limits are the defaults
	Redactor  Redactor                    // takes out secrets; nil stores every text as it is
	Marker    Marker                      // marks the secrets in texts that are stored unchanged; may be nil
}

// FrameDraft has the changes that only a frame can make. The zero FrameDraft is a frame with the state of the
// previous entry.
type FrameDraft struct {
	State    []Change        // changes of the state; changes of the mailbox are allowed too
	Restore  *State          // the state to which State and Mailbox apply; nil means the previous entry's state
	Based    *int64          // see Header.Based; the previous frame's number means the same as nil
	IDs      []string        // ids of the frame, in any order; an id that is given twice counts once; see MaxIDs and MaxID
	Rendered json.RawMessage // the rendered workflow tree; nil leaves the stored tree unchanged, JSON null removes it
	Silent   bool            // omits the event SnapshotCaptured, which is otherwise the frame's last event
}

// StateChanges returns the changes in Frame.State, followed by the changes in Mailbox. If Frame is nil,
// StateChanges returns Mailbox alone. The result may share memory with the draft.
func (d *Draft) StateChanges() []Change {
	switch {
	case d.Frame == nil:
		return d.Mailbox
	case len(d.Mailbox) == 0:
		return d.Frame.State
	}
	return slices.Concat(d.Frame.State, d.Mailbox)
}

// Repeat returns the draft of a frame with the state, the files, the ids, the subject and the time of the entry.
func (e *Entry) Repeat() (*Draft, error) {
	state, err := e.State()
	if err != nil {
		return nil, err
	}
	vcs, err := e.VCSRevision()
	return &Draft{Frame: &FrameDraft{Restore: state, IDs: e.IDs}, VCS: vcs, Subject: e.Subject, AtMs: e.AtMs}, err
}

// Append builds the entry that follows prev and writes its objects to w, the commit last. For the first entry of a run
// that is not a fork, prev is nil and draft.Run must fill in the run's row. w must be able to read everything that prev
// and draft.Frame.Restore read. frames reconstructs prev's rendered tree and caches the new tree. frames may be nil.
// The returned entry reads through w, and has the same content as the entry that ReadEntry reads later.
//
// If draft.Run changes the run's id, the entry is the first entry of a fork. The rules for first entries are:
//   - The first entry of a run must be a frame.
//   - The first entry of a fork must be a frame, unless prev itself is the fork's frame 0. Append does not check this.
//   - If the fork has an extension, its first entry must follow the extension and must not be a frame.
//   - Only the first entry of a fork can follow a view: see Entry.IsView.
//
// Append sets Frame, NextSeq, Secrets and Marks of the row, and ignores the values that draft.Run sets. In the first entry of a run or
// fork, both begin at 0. But if the fork has an extension, Frame is the Frame of prev's row minus Parent.Frame. In all
// other entries, both continue from prev's row.
//
// If the error wraps ErrInvalid, the draft cannot be stored. After any error, the objects written to w are useless.
func Append(w objstore.Writer, frames *FrameCache, prev *Entry, draft Draft) (*Entry, error) {
	known := registered
	if prev != nil {
		known = prev.known
	}
	return known.append(w, frames, prev, draft)
}

// append does the work of Append. The entry gets the collections of known, the registry. If prev is not nil,
// prev.known must be the same registry.
func (known registry) append(w objstore.Writer, frames *FrameCache, prev *Entry, draft Draft) (*Entry, error) {
	a := appender{w: w, frames: frames, prev: prev, draft: draft, next: &Entry{r: w, known: known}}
	// Each step uses results of earlier steps: the header needs the edited row, the events need the content hash, and
	// the row is complete only after the events and the workflow.
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
	shared []string // with whom the run shared the working copy whose changed files the entry has
	before Run      // prev's row
	run    Run      // next's row
	fork   bool     // next begins a new run, forked from prev's
	parts  []objstore.TreeEntry
	marks  marks
}

// put adds the object with the given id to the entry's tree under the given name. If the tree already has an object
// with this name, put replaces the object. If id is zero, put only removes the object. For the name, kindOf must return
// filePart or folderPart.
func (a *appender) put(name string, id objstore.ID) {
	a.parts = slices.DeleteFunc(a.parts, func(e objstore.TreeEntry) bool { return e.Name == name })
	if id.IsZero() {
		return
	}
	mode := objstore.ModeFile
	if a.next.known.kindOf(name) == folderPart {
		mode = objstore.ModeTree
	}
	a.parts = append(a.parts, objstore.TreeEntry{Name: name, Mode: mode, ID: id})
}

// base copies the tree of prev to a.parts, and the run's row of prev to a.before. If prev is nil, base does nothing.
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

// numberEntry sets a.fork, Frame and NextSeq of the run's row, and the entry's header. Later steps set the header's
// ContentHash, NextSeq and Tree. The header's VCS is prev's until writeVCS replaces it. If the entry cannot follow prev
// or, without prev, cannot be the first entry of a run, the error wraps ErrInvalid.
func (a *appender) numberEntry() error {
	a.fork = a.prev != nil && a.run.ID != a.before.ID // draft.Run has changed the run's id
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
		Run: a.run.ID, Frame: NoFrame, Newest: a.run.Frame, AtMs: a.draft.AtMs, Subject: a.subject(),
		Operation: a.stored.operation, Base: a.draft.Base,
	}
	if f := a.draft.Frame; f != nil {
		a.next.Frame = a.run.Frame
		if based := f.Based; based != nil && *based != a.run.Frame-1 {
			a.next.Based = new(*based)
		}
		a.next.IDs = a.stored.ids
	}
	if a.prev != nil {
		a.next.Parent, a.next.VCS = a.prev.ID, a.prev.VCS
	}
	return nil
}

// extend sets Frame in the run's row of the first entry of a fork with an extension. The value is the Frame of prev's
// row minus Parent.Frame. If the row names no extension, extend does nothing. If the entry does not follow the
// extension, or is a frame, the error wraps ErrInvalid.
func (a *appender) extend() error {
	p := a.run.Parent
	if p == nil || p.Extension.IsZero() {
		return nil
	}
	a.run.Frame = a.before.Frame - p.Frame
	if !a.fork || a.draft.Frame != nil || a.prev.IsView() || p.Extension != a.prev.ID || a.run.Frame < 0 {
		return invalid("the first entry of a fork with an extension must follow the extension and must not be a frame")
	}
	return nil
}

// takeIn validates the draft before any step writes an object. It sets a.stored to the form in which the draft is
// stored, and a.run to the row that draft.Run edited. The rendered tree, the working copy and the row are checked
// later, by writeFrame, writeVCS and writeRun.
func (a *appender) takeIn() (err error) {
	a.marks.marker = a.draft.Marker
	if err := a.shareFiles(); err != nil {
		return err
	}
	in := a.intake()
	if a.run, err = in.run(a.before, a.draft.Earlier, a.draft.Run); err != nil {
		return err
	}
	a.stored, err = in.draft(&a.draft)
	return err
}

// intake returns the intake of the entry.
func (a *appender) intake() intake {
	return intake{a.next.known, a.draft.Limits, secrets{a.draft.Redactor, a.storedBefore, &a.marks}}
}

// storedBefore returns the value of a row of the state, the mailbox or the journal before the draft's changes, or nil if there is no
// such row.
func (a *appender) storedBefore(collection, key string) ([]byte, error) {
	state, err := a.baseState()
	if err != nil {
		return nil, err
	}
	if collection == CollectionInput {
		return state.Input()
	}
	rows := state.collection(collection)
	if table, ok := strings.CutPrefix(collection, outputsPrefix); ok {
		rows = state.Outputs(table)
	}
	if rows == nil {
		if a.prev == nil {
			return nil, nil
		}
		if rows, err = a.prev.journalRows(collection); err != nil {
			return nil, err
		}
	}
	value, _, err := rows.Get(key)
	return value, err
}

// baseState returns the state that the draft's changes apply to.
func (a *appender) baseState() (*State, error) {
	switch f := a.draft.Frame; {
	case f != nil && f.Restore != nil:
		return f.Restore, nil
	case a.prev == nil:
		return a.next.known.emptyState(), nil
	}
	return a.prev.State()
}

// writeState applies the draft's changes to the state that the draft restores or, if the draft restores no state, to
// prev's state. The parts of the result replace the parts of prev's state in the entry's tree. The content hash of the
// result goes into the header.
func (a *appender) writeState() error {
	base, err := a.baseState()
	if err != nil {
		return err
	}
	state, err := base.edit(a.w, a.stored.state)
	if err != nil {
		return err
	}
	a.next.state.set(state)
	a.parts = slices.DeleteFunc(a.parts, func(e objstore.TreeEntry) bool { return a.next.known.kindOf(e.Name) == statePart })
	a.parts = append(a.parts, state.Parts()...)
	a.next.ContentHash = state.ContentHash()
	return nil
}

// writeJournal applies the draft's changes to prev's journal. In a fork, it first empties the collections that belong
// to one run. If the draft has no changes of the journal, and the fork emptied no collection, the entry keeps prev's
// journal.
func (a *appender) writeJournal() error {
	var err error
	before := journal{rowSet: a.next.known.empty(inJournal)}
	if a.prev != nil {
		if before, err = a.prev.readJournal(); err != nil {
			return err
		}
	}
	anew := false // takenOver has emptied a collection, so the journal must be stored again
	if a.fork {
		before.rowSet, anew = before.takenOver(a.draft.Afresh)
	}
	after := journal{unread: before.unread}
	if after.rowSet, err = before.edit(a.w, a.stored.journal); err != nil {
		return err
	}
	a.next.journal.set(after)
	if len(a.draft.Journal) > 0 || anew {
		a.putJournal(after)
	}
	return nil
}

// takenOver returns the collections with which a fork begins: a copy of s without the rows of the collections that
// belong to one run or, if afresh is true, without any rows. anew is true if this removed any rows.
func (s rowSet) takenOver(afresh bool) (taken rowSet, anew bool) {
	taken = slices.Clone(s)
	for i := range taken {
		if (afresh || taken[i].of.ownToRun) && taken[i].Len() > 0 {
			taken[i].Collection, anew = emptyCollection(), true
		}
	}
	return taken, anew
}

// putJournal stores the non-empty collections of j, and the tree entries in j.unread, as the tree of the entry's
// journal. If there is nothing to store, the entry has no journal.
func (a *appender) putJournal(j journal) {
	entries := append(j.parts(), j.unread...)
	if len(entries) == 0 {
		a.put(journalName, objstore.ID{})
		return
	}
	a.put(journalName, a.w.Add(objstore.Tree, objstore.EncodeTree(entries)))
}

// writeFrame stores the draft's rendered tree as the file "frame" of the entry. If the tree equals prev's, the entry
// keeps prev's blob. If the tree is null, the entry has no such file. If the draft has no tree, writeFrame does
// nothing.
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
	id, err := a.frames.known().Write(a.w, before, f.Rendered, a.intake().rendered)
	if err != nil {
		return err
	}
	a.put(frameName, id)
	return nil
}

// writeEvents numbers the entry's events from NextSeq of the run's row on. It then advances NextSeq in the row and
// sets NextSeq in the header. It stores the events in the form of encodeEvents. If the stored form has more than
// maxEvents bytes, the error wraps ErrLimit.
func (a *appender) writeEvents() error {
	events := a.events()
	for i := range events {
		events[i].Seq = a.run.NextSeq + int64(i)
	}
	a.run.NextSeq += int64(len(events))
	a.next.NextSeq = a.run.NextSeq
	a.next.events.set(events)
	data, stored := encodeEvents(events, a.next.Header)
	if !stored {
		a.put(eventsName, objstore.ID{})
		return nil
	}
	return a.putFile(eventsName, data, maxEvents)
}

// putFile stores data as a file in the entry's tree. name is the name of the file, and most is the maximum size in
// bytes. If data is larger, the file could not be read again: putFile stores nothing, and the error wraps ErrLimit.
func (a *appender) putFile(name string, data []byte, most int) error {
	if len(data) > most {
		return fmt.Errorf("%w: %s has %d bytes, the maximum is %d", ErrLimit, name, len(data), most)
	}
	a.put(name, a.w.Add(objstore.Blob, data))
	return nil
}

// events returns the draft's events in their stored form. If the entry is a frame and not silent, the last
// event is SnapshotCaptured with the frame's number and content hash.
func (a *appender) events() []Event {
	if a.draft.Frame == nil || a.draft.Frame.Silent {
		return a.stored.events
	}
	return append(a.stored.events, a.next.capturedEvent())
}

// writeWorkflow stores the draft's workflow and sets WorkflowHash in the run's row. If the draft has no workflow,
// writeWorkflow does nothing.
func (a *appender) writeWorkflow() error {
	if w := a.stored.workflow; w != nil {
		a.run.WorkflowHash = w.Hash()
		a.put(workflowName, w.write(a.w))
	}
	return nil
}

// writeRun checks the run's row and stores it as run.json. If prev has the same row, the entry keeps prev's run.json.
// If the row cannot be stored, the error wraps ErrInvalid.
func (a *appender) writeRun() error {
	a.run.Secrets, a.run.Marks = a.before.Secrets, addMarks(a.before.Marks, a.marks.found)
	if r := a.draft.Redactor; r != nil {
		a.run.Secrets = max(a.run.Secrets, r.Highest())
	}
	if err := a.run.check(); err != nil {
		return invalid("run row: %w", err)
	}
	a.next.run.set(a.run.clone())
	data := encodeRun(a.run)
	// The run.json of a view has the row of the parent run.
	if a.prev != nil && !a.prev.IsView() && bytes.Equal(data, encodeRun(a.before)) {
		return nil
	}
	return a.putFile(runName, data, maxDocument)
}

// writeCommit stores the entry's tree, then its commit, and returns the finished entry. The error wraps
// ErrInvalid if the header cannot be stored.
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
