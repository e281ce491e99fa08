package snapshot

import (
	"fmt"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/objstore/page"
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
)

// partMode is the mode of a name in an entry's tree, and whether the name is known.
// What has the mode 0 is carried as it stands, whatever it is.
func partMode(name string) (mode objstore.Mode, known bool) {
	switch name {
	case runName, frameName, eventsName, vcsName:
		return objstore.ModeFile, true
	case workflowName, stateName, journalName, worktreeName, worktreesName:
		return objstore.ModeTree, true
	case extName, "attachments":
		return 0, true
	}
	return 0, false
}

// Entry is one entry of a run's chain, opened for reading. Safe for concurrent use.
type Entry struct {
	ID objstore.ID
	Header

	r       objstore.Reader
	known   registry
	view    *view // nil for an entry as its commit says
	root    lazy[[]objstore.TreeEntry]
	run     lazy[Run]
	state   lazy[*State]
	events  lazy[[]Event]
	vcs     lazy[*VCS]
	journal lazy[rowSet]
}

// ReadEntry reads the commit and nothing else.
func ReadEntry(r objstore.Reader, id objstore.ID) (*Entry, error) {
	return registered.readEntry(r, id)
}

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

// readCommit reads a commit that is no larger than one of ours.
func readCommit(r objstore.Reader, id objstore.ID) ([]byte, error) {
	kind, data, err := objstore.GetAtMost(r, id, maxCommit)
	if err == nil && kind != objstore.Commit {
		err = &objstore.CorruptError{ID: id, Reason: fmt.Sprintf("is a %v, expected a commit", kind)}
	}
	return data, err
}

// parts reads the entry's tree, once.
func (e *Entry) parts() ([]objstore.TreeEntry, error) {
	return e.root.get(func() ([]objstore.TreeEntry, error) {
		entries, err := objstore.ReadTree(e.r, e.Tree)
		if err != nil {
			return nil, err
		}
		for _, part := range entries {
			mode, known := partMode(part.Name)
			switch {
			case !known:
				return nil, fmt.Errorf("%w: %q in entry %v", ErrNewerFormat, part.Name, e.ID)
			case mode != 0 && part.Mode != mode:
				return nil, corrupt(e.Tree, "entry: %s has mode %o", part.Name, uint32(part.Mode))
			}
		}
		return entries, nil
	})
}

// part looks one name up in the entry's tree; the zero id when it is not there.
func (e *Entry) part(name string) (objstore.ID, error) {
	entries, err := e.parts()
	if err != nil {
		return objstore.ID{}, err
	}
	part, _ := objstore.FindEntry(entries, name)
	return part.ID, nil
}

// blob reads one file of the entry, of at most so many bytes; nil data and the zero id when it is not there.
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

// RunRow is the run's row at this entry. The caller owns it.
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
		if of := e.stored(); run.ID != of.Run || of.Frame != NoFrame && run.Frame != of.Frame {
			return Run{}, corrupt(id, "run.json: run %q, frame %d: not what the commit says", run.ID, run.Frame)
		}
		if e.view != nil {
			run = e.view.row(run)
		}
		return run, nil
	})
	return run.clone(), err
}

// State is the workflow state.
func (e *Entry) State() (*State, error) {
	return e.state.get(func() (*State, error) {
		id, err := e.part(stateName)
		if err != nil {
			return nil, err
		}
		return e.known.openState(e.r, id)
	})
}

// StateID names the state's tree without opening it; the zero ID when it is empty.
func (e *Entry) StateID() (objstore.ID, error) { return e.part(stateName) }

// Events are what happened since the entry before, in order of their Seq; none is
// nil. The caller owns the slice, but not the payloads.
func (e *Entry) Events() ([]Event, error) {
	if e.view != nil {
		return nil, nil
	}
	events, err := e.events.get(func() ([]Event, error) {
		id, data, err := e.blob(eventsName, maxEvents)
		if err != nil || id.IsZero() {
			return nil, err
		}
		return decodeEvents(id, data)
	})
	return slices.Clone(events), err
}

// VCSRevision is the working copy at this entry, whose trees the entry has as it says;
// nil when none is known. The caller owns it.
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

// VCSID names vcs.json without reading it; the zero ID when there is none. As long as
// it is the same, so is what VCSRevision returns.
func (e *Entry) VCSID() (objstore.ID, error) { return e.part(vcsName) }

// Attempts is the journal's collection of attempts, with rows for DecodeAttempt.
func (e *Entry) Attempts() (*page.Collection, error) { return e.journalRows(CollectionAttempts) }

// Logs is the journal's collection of logs, with rows for DecodeLog.
func (e *Entry) Logs() (*page.Collection, error) { return e.journalRows(CollectionLogs) }

// Ops is the journal's collection of ops, with rows for DecodeOp.
func (e *Entry) Ops() (*page.Collection, error) { return e.journalRows(CollectionOps) }

// JournalRows is one collection of an entry's journal.
type JournalRows struct {
	Name     string // as in a Change
	Rows     *page.Collection
	Check    func(page.Row) error // returns why a stored row is not valid
	OwnToRun bool                 // a fork's begins empty
}

// Journal returns all collections of the entry's journal, always in the same order.
func (e *Entry) Journal() ([]JournalRows, error) {
	j, err := e.readJournal()
	if err != nil {
		return nil, err
	}
	all := make([]JournalRows, len(j))
	for i, c := range j {
		all[i] = JournalRows{Name: c.of.name, Rows: c.Collection, Check: c.of.decode, OwnToRun: c.of.ownToRun}
	}
	return all, nil
}

func (e *Entry) journalRows(name string) (*page.Collection, error) {
	j, err := e.readJournal()
	if err != nil {
		return nil, err
	}
	return j.at(name), nil
}

func (e *Entry) readJournal() (rowSet, error) {
	return e.journal.get(func() (rowSet, error) {
		j := e.known.empty(inJournal)
		id, err := e.part(journalName)
		if err != nil || id.IsZero() {
			return j, err
		}
		entries, err := objstore.ReadTree(e.r, id)
		if err != nil {
			return nil, err
		}
		if len(entries) == 0 {
			return nil, corrupt(id, "journal: empty tree")
		}
		for _, part := range entries {
			known, err := j.open(e.r, id, part)
			if err == nil && !known {
				err = fmt.Errorf("%w: %q in journal %v", ErrNewerFormat, part.Name, id)
			}
			if err != nil {
				return nil, err
			}
		}
		return j, nil
	})
}

// Workflow is what the run was started with, or replayed with since; nil when the
// entry has none.
func (e *Entry) Workflow() (*Workflow, error) {
	id, err := e.part(workflowName)
	if err != nil || id.IsZero() {
		return nil, err
	}
	return ReadWorkflow(e.r, id)
}

// WorkflowID names the workflow's tree without reading it; the zero ID when there is
// none. As long as it is the same, so is what Workflow returns.
func (e *Entry) WorkflowID() (objstore.ID, error) { return e.part(workflowName) }
