package snapshot

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/objstore"
)

// The names in an entry's tree.
const (
	runName      = "run.json"
	workflowName = "workflow"
	stateName    = "state"
	journalName  = "journal"
	frameName    = "frame"
	eventsName   = "events"
	vcsName      = "vcs.json"

	worktreeName  = "worktree"
	worktreesName = "worktrees"

	attachmentsName = "attachments" // reserved: entries carry the part unchanged
)

// partKind is the kind of a part of an entry. The name of the part in the entry's tree determines the kind.
type partKind int

const (
	unknownPart partKind = iota // a newer version wrote the part
	filePart
	folderPart
	statePart   // a part of the state: the input, an output table or a collection
	carriedPart // any object, which Append copies unchanged from the previous entry
)

// kindOf returns the kind of the part that has the given name in an entry's tree, or unknownPart if the format has no
// such part.
func (known registry) kindOf(name string) partKind {
	switch name {
	case runName, frameName, eventsName, vcsName:
		return filePart
	case workflowName, journalName, worktreeName, worktreesName:
		return folderPart
	case extName, attachmentsName:
		return carriedPart
	case inputName:
		return statePart
	}
	if of := known.named(name); of != nil && of.place != inJournal || strings.HasPrefix(name, outputsPart) {
		return statePart
	}
	return unknownPart
}

// Entry is one entry of a run's chain, opened for reading. An Entry is safe for concurrent use.
type Entry struct {
	ID objstore.ID
	Header

	r       objstore.Reader
	known   registry
	view    *view // nil for an entry as stored
	root    lazy[[]objstore.TreeEntry]
	run     lazy[Run]
	state   lazy[*State]
	events  lazy[[]Event]
	vcs     lazy[*VCS]
	journal lazy[journal]
}

// ReadEntry reads and decodes the commit with the given id as an entry. The entry reads its other parts only when
// they are requested. If the object is not the commit of an entry, the error wraps objstore.ErrCorrupt. If the commit
// has another version of the format, the error wraps ErrNewerFormat or ErrOlderFormat.
func ReadEntry(r objstore.Reader, id objstore.ID) (*Entry, error) {
	return registered.readEntry(r, id)
}

// readEntry reads an entry: see ReadEntry. The entry has the collections of known, the registry.
func (known registry) readEntry(r objstore.Reader, id objstore.ID) (*Entry, error) {
	data, err := readCommit(r, id)
	if err != nil {
		return nil, err
	}
	header, err := DecodeHeader(id, data)
	if err != nil {
		return nil, err
	}
	return &Entry{ID: id, Header: header, r: r, known: known}, nil
}

// readCommit returns the bytes of the commit with the given id. If the object is not a commit, or has more than
// maxCommit bytes, the error wraps objstore.ErrCorrupt.
func readCommit(r objstore.Reader, id objstore.ID) ([]byte, error) {
	kind, data, err := objstore.GetAtMost(r, id, maxCommit)
	if err == nil && kind != objstore.Commit {
		err = &objstore.CorruptError{ID: id, Reason: fmt.Sprintf("is a %v, expected a commit", kind)}
	}
	return data, err
}

// parts returns the tree entries of e's tree. It reads and checks the tree only once. If the tree has an unknown
// name, the error wraps ErrNewerFormat. If a file has the mode of a folder, or the reverse, the error wraps
// objstore.ErrCorrupt.
func (e *Entry) parts() ([]objstore.TreeEntry, error) {
	return e.root.get(func() ([]objstore.TreeEntry, error) {
		entries, err := objstore.ReadTree(e.r, e.Tree)
		if err != nil {
			return nil, err
		}
		for _, part := range entries {
			kind := e.known.kindOf(part.Name)
			switch {
			case kind == unknownPart:
				return nil, fmt.Errorf("%w: %q in the tree of commit %v", ErrNewerFormat, part.Name, e.ID)
			case kind == filePart && part.Mode != objstore.ModeFile, kind == folderPart && part.Mode != objstore.ModeTree:
				return nil, corrupt(e.Tree, "entry: %s has mode %o", part.Name, uint32(part.Mode))
			}
		}
		return entries, nil
	})
}

// part returns the id of the object with the given name in the entry's tree, or the zero id if the tree does not have
// the name.
func (e *Entry) part(name string) (objstore.ID, error) {
	entries, err := e.parts()
	if err != nil {
		return objstore.ID{}, err
	}
	part, _ := objstore.FindEntry(entries, name)
	return part.ID, nil
}

// blob reads a file in the entry's tree, and returns its id and content. name is the name of the file. If the entry
// does not have the file, blob returns the zero id and nil. most is the maximum size in bytes: if the file is larger,
// blob returns an error.
func (e *Entry) blob(name string, most int64) (objstore.ID, []byte, error) {
	id, err := e.part(name)
	if err != nil || id.IsZero() {
		return id, nil, err
	}
	data, err := objstore.GetBlob(e.r, id, most)
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return id, data, err
}

// RunRow returns the run's row at this entry, which the caller may modify. For a view, some fields of the row have the
// values of the fork: see IsView. If run.json and the commit have different run ids, the error wraps
// objstore.ErrCorrupt.
func (e *Entry) RunRow() (Run, error) {
	run, err := e.run.get(func() (Run, error) {
		id, data, err := e.blob(runName, maxDocument)
		if err != nil {
			return Run{}, err
		}
		run, err := decodeRun(id, data)
		if err != nil {
			return Run{}, err
		}
		if run.ID != e.stored().Run {
			return Run{}, corrupt(id, "run.json: run %q: the commit names another run", run.ID)
		}
		if e.view != nil {
			run = e.view.row(run)
		}
		run.Frame, run.NextSeq = e.Newest, e.NextSeq
		return run, nil
	})
	return run.clone(), err
}

// State opens the workflow state at this entry. If it succeeds, later calls return the same State.
func (e *Entry) State() (*State, error) {
	return e.state.get(func() (*State, error) {
		entries, err := e.parts()
		if err != nil {
			return nil, err
		}
		var parts []objstore.TreeEntry
		for _, part := range entries {
			if e.known.kindOf(part.Name) == statePart {
				parts = append(parts, part)
			}
		}
		return e.known.openState(e.r, parts)
	})
}

// CollectionID returns the id of a collection of the state, or the zero ID if the collection has no rows. It does not
// read the collection. name is a constant such as CollectionNodes. CollectionID does not work for output tables.
func (e *Entry) CollectionID(name string) (objstore.ID, error) { return e.part(name) }

// RenderedID returns the id of the file with the rendered tree without reading the file, or the zero ID if the entry
// has no rendered tree. Entries with the same id have the same rendered tree.
func (e *Entry) RenderedID() (objstore.ID, error) { return e.part(frameName) }

// Events returns the events since the previous entry, sorted by Seq. For a view, it returns no events. The caller may
// modify the slice, but not the payloads.
func (e *Entry) Events() ([]Event, error) {
	if e.view != nil {
		return nil, nil
	}
	events, err := e.events.get(func() ([]Event, error) {
		id, data, err := e.blob(eventsName, maxEvents)
		if err != nil {
			return nil, err
		}
		return decodeEvents(id, data, e.Header)
	})
	return slices.Clone(events), err
}

// VCSRevision returns the working copy at this entry, or nil if no working copy has been recorded so far. The caller
// may modify the result. If the captured trees in the entry differ from the trees in vcs.json, the error wraps
// objstore.ErrCorrupt.
func (e *Entry) VCSRevision() (*VCS, error) {
	vcs, err := e.vcs.get(func() (*VCS, error) {
		id, data, err := e.blob(vcsName, maxDocument)
		if err != nil {
			return nil, err
		}
		var vcs *VCS
		if !id.IsZero() {
			if vcs, err = decodeVCS(id, data); err != nil {
				return nil, err
			}
		}
		return vcs, e.checkWorktrees(vcs)
	})
	if vcs != nil {
		vcs = vcs.clone()
	}
	return vcs, err
}

// VCSID returns the id of vcs.json without reading the file, or the zero ID if the entry has no vcs.json.
// Entries with the same id have the same VCSRevision.
func (e *Entry) VCSID() (objstore.ID, error) { return e.part(vcsName) }

// Attempts returns the journal's collection of attempts. DecodeAttempt decodes its rows.
func (e *Entry) Attempts() (*page.Collection, error) { return e.journalRows(CollectionAttempts) }

// AllAttempts yields the attempts of the entry's journal in the order of their keys, and ends with the first error.
func (e *Entry) AllAttempts() iter.Seq2[Attempt, error] {
	return journalOf(e, CollectionAttempts, DecodeAttempt)
}

// Logs returns the journal's collection of logs. DecodeLog decodes its rows.
func (e *Entry) Logs() (*page.Collection, error) { return e.journalRows(CollectionLogs) }

// Ops returns the journal's collection of ops. DecodeOp decodes its rows.
func (e *Entry) Ops() (*page.Collection, error) { return e.journalRows(CollectionOps) }

// JournalRows is one collection of an entry's journal.
type JournalRows struct {
	Name     string // as in a Change
	Rows     *page.Collection
	Check    func(page.Row) error // returns an error if a stored row is invalid
	OwnToRun bool                 // the collection is empty at the beginning of a fork
}

// Journal returns all collections of the entry's journal, always in the same order.
func (e *Entry) Journal() ([]JournalRows, error) {
	j, err := e.readJournal()
	if err != nil {
		return nil, err
	}
	all := make([]JournalRows, len(j.rowSet))
	for i, c := range j.rowSet {
		all[i] = JournalRows{Name: c.of.name, Rows: c.Collection, Check: c.of.decode, OwnToRun: c.of.ownToRun}
	}
	return all, nil
}

// journalRows returns the collection of the journal with the given name, or an empty collection if the registry has
// no such collection.
func (e *Entry) journalRows(name string) (*page.Collection, error) {
	j, err := e.readJournal()
	if err != nil {
		return nil, err
	}
	return j.at(name), nil
}

// journal has the collections of an entry's journal.
type journal struct {
	rowSet

	unread []objstore.TreeEntry // collections of a newer version, which Append copies unchanged from the previous entry
}

// Rows returns the collection of the state or of the journal with the given name, as in a Change.
func (e *Entry) Rows(name string) (*page.Collection, error) {
	state, err := e.State()
	if err != nil {
		return nil, err
	}
	if rows := state.collection(name); rows != nil {
		return rows, nil
	}
	return e.journalRows(name)
}

// Changed returns the names of the parts in which the entry differs from another one. The collections of the journal are parts, and the row of the run and
// the events are not.
func (e *Entry) Changed(before *Entry) ([]string, error) {
	changed := make(map[string]objstore.ID)
	for _, entry := range []*Entry{before, e} {
		parts, err := entry.parts()
		if journal, found := objstore.FindEntry(parts, journalName); err == nil && found {
			var rows []objstore.TreeEntry
			rows, err = objstore.ReadTree(entry.r, journal.ID)
			parts = slices.Concat(parts, rows)
		}
		if err != nil {
			return nil, err
		}
		for _, part := range parts {
			if changed[part.Name] == part.ID {
				delete(changed, part.Name)
			} else if part.Name != journalName && part.Name != runName && part.Name != eventsName {
				changed[part.Name] = part.ID
			}
		}
	}
	return slices.Collect(maps.Keys(changed)), nil
}

// readJournal opens the collections of the journal. A collection that the journal lacks is empty. A collection that
// the registry does not know stays unopened: its tree entry goes into unread of the result.
func (e *Entry) readJournal() (journal, error) {
	return e.journal.get(func() (journal, error) {
		j := journal{rowSet: e.known.empty(inJournal)}
		id, err := e.part(journalName)
		if err != nil || id.IsZero() {
			return j, err
		}
		entries, err := objstore.ReadTree(e.r, id)
		if err != nil {
			return journal{}, err
		}
		if len(entries) == 0 { // an entry without rows in the journal has no journal
			return journal{}, corrupt(id, "journal: empty tree")
		}
		for _, part := range entries {
			known, err := j.open(e.r, part)
			if err != nil {
				return journal{}, err
			}
			if !known {
				j.unread = append(j.unread, part)
			}
		}
		return j, nil
	})
}

// Workflow returns the definition with which the run was started or last replayed, or nil if the entry has no
// workflow.
func (e *Entry) Workflow() (*Workflow, error) {
	id, err := e.part(workflowName)
	if err != nil || id.IsZero() {
		return nil, err
	}
	return ReadWorkflow(e.r, id)
}

// WorkflowID returns the id of the workflow's tree without reading the tree, or the zero ID if the entry has no
// workflow. Entries with the same id have the same Workflow.
func (e *Entry) WorkflowID() (objstore.ID, error) { return e.part(workflowName) }
