package smithers

import (
	"fmt"
	"slices"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/contents"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrun"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/export"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tree"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/workcopy"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
)

// drafter drafts the next entries of a run from the database's rows and from line, the part of the run that was
// drafted before. A drafter writes nothing, and changes neither the rows nor the line. So equal rows and lines
// give equal drafts.
type drafter struct {
	peer   *dbrun.Run
	box    *mailbox
	limits snapshot.Limits
	isNew  bool // the repository had no entry of the run before the pass
	live   bool // the pass imports only new frames, so the newest frame records the progress of the import
}

// peerFrame is a frame of Smithers to draft.
type peerFrame struct {
	*source.Snapshot

	index    int                     // the index of the frame in the database's list of frames
	captured *jjbridge.CapturedFiles // the captured working copy of the frame, or nil
}

// moment returns the time and the revision of the frame. Together they determine the frame's working copies.
func (f *peerFrame) moment() workcopy.Moment {
	return workcopy.Moment{AtMs: f.AtMs, Pointer: dbrow.TextOf(f.Row, "vcs_pointer")}
}

// frame returns the step that appends one frame of Smithers to line. of has the frame's snapshot and captured
// files. The step begins with an entry for each earlier working copy that no frame has. In a live pass, the
// step for the newest frame also records the progress of the import.
//
// The draft of the step is a frame, with one exception. The first snapshot of a fork becomes an entry that is
// not a frame if it has no new rendered tree and changes nothing but the mailbox.
func (d *drafter) frame(line *runLine, of peerFrame) (*lineStep, error) {
	tree, rendered, wrong := d.treesOf(&line.lineEnd, of)
	end := line.lineEnd
	end.tree, end.based = tree, nil
	if rendered != nil {
		end.ours = string(rendered)
	}
	if end.ours == export.NoTree {
		end.ours = ""
	}
	w, differs, err := d.wholeOf(line.entry, of.Snapshot, end.ours, line.now.Layout)
	if err != nil {
		return nil, err
	}
	changes, err := snapshot.ChangesTo(stateOf(line.entry), w)
	if err != nil {
		return nil, err
	}
	moment := of.moment()
	step := &lineStep{draft: snapshot.Draft{AtMs: of.AtMs, Run: d.peer.During(moment.Pointer), Limits: d.limits}}
	// The first snapshot of a fork often equals the parent's frame, and then needs no frame of its own.
	if !line.first() || line.entry == nil || rendered != nil || slices.ContainsFunc(changes, ofCore) {
		step.draft.Frame = &snapshot.FrameDraft{State: changes, Rendered: rendered, Silent: true, Based: line.based}
	} else {
		step.draft.Mailbox = changes
	}
	if err := d.addFiles(line, step, of, &end); err != nil {
		return nil, err
	}
	one := tables.FrameFacts{Frame: line.next(), PeerNo: of.Frame, AtMs: of.AtMs, ContentHash: source.ContentHash(of.Contents)}
	if end.ours != "" {
		one.XMLHash = source.XMLHash(end.ours)
	}
	d.addHistory(line, step, one, end.files, w.Nodes)
	step.frame = &frameStep{facts: one}
	if step.frame.note, err = d.describe(tree, of.Snapshot, one, differs, wrong); err != nil {
		return nil, err
	}
	end.before = &moment
	step.frame.end = end
	if d.live && of.index == len(d.peer.Heads)-1 {
		return step, d.addPass(line, step)
	}
	return step, nil
}

// treesOf returns the rendered tree of a frame in the database and in the repository. of is the frame, and end
// is the end of the line before the frame.
//
// tree is the tree in the database. If the database has no row for the frame, tree is the tree of the previous
// frame. If the row cannot be read, tree is "". rendered is the new tree in the repository. It is nil if tree
// is missing, invalid or equal to end.ours; the frame then keeps end.ours. wrong is the reason why the row
// cannot be read or why the tree is invalid, or nil.
func (d *drafter) treesOf(end *lineEnd, of peerFrame) (tree string, rendered []byte, wrong error) {
	before := int64(tables.NoNumber)
	if of.index > 0 {
		before = d.peer.Heads[of.index-1].Frame
	}
	tree, wrong = d.peer.Trees.Inflate(d.peer.Trees.Between(end.tree, before, of.Frame), of.Frame)
	if tree == "" || tree == end.ours || tree == export.NoTree && end.ours == "" {
		return tree, nil, wrong
	}
	// An invalid tree stays in the stored row of Smithers, but does not become the tree of a frame in the
	// repository.
	if err := snapshot.CheckRendered([]byte(tree)); err != nil {
		return tree, nil, err
	}
	return tree, []byte(tree), wrong
}

// inSnapshot returns an error that wraps err and names Smithers' number of s. err is an error about the texts
// of s.
func inSnapshot(s *source.Snapshot, err error) error {
	return fmt.Errorf("snapshot %d: %w", s.Frame, err)
}

// wholeOf returns the state of s, a snapshot, with the mailbox at the snapshot's time. It also returns the
// differences between the snapshot's texts and the texts that Write makes of the state. entry is the entry
// before the snapshot, or nil before a run's first entry. layout is the layout of outputs. ours is the frame's
// rendered tree. If ours is "", the nodes' needs come from the times of attempts.
func (d *drafter) wholeOf(entry *snapshot.Entry, s *source.Snapshot, ours string, layout contents.Layout) (snapshot.Whole, contents.Shape, error) {
	texts, err := contents.Parse(s.Contents, ours, d.limits)
	if err != nil {
		return snapshot.Whole{}, contents.Shape{}, inSnapshot(s, err)
	}
	w, state := texts.Whole, stateOf(entry)
	if err := tree.KeepPlaces(w.Nodes, state); err != nil {
		return snapshot.Whole{}, contents.Shape{}, err
	}
	if ours == "" {
		d.peer.PlaceByTime(&w, s.AtMs)
	}
	had, err := signalNumbers(state)
	if err != nil {
		return snapshot.Whole{}, contents.Shape{}, err
	}
	signals := d.box.fill(&w, s.AtMs, had)
	return w, texts.Shape(d.peer.ID, s.Contents, w, signals, layout), nil
}

// addFiles sets the working copy of step.draft to the working copy at the frame of. If there is no new working
// copy, step.draft.VCS stays nil. For each earlier working copy that no frame has, addFiles adds an entry to
// step.passing, except before the run's first entry. If the frame has captured files, addFiles sets end.files
// and the working copy of step.draft to these files.
func (d *drafter) addFiles(line *runLine, step *lineStep, of peerFrame, end *lineEnd) error {
	current, err := filesOf(line.entry)
	if err != nil {
		return err
	}
	passing := d.peer.Copies.Between(current, line.before, of.moment())
	for i, vcs := range passing {
		current = &vcs
		if i < len(passing)-1 && !line.first() {
			step.passing = append(step.passing, d.filesOnly(&vcs, of.AtMs))
			continue
		}
		step.draft.VCS = current
	}
	if of.captured != nil {
		end.files = d.peer.Copies.With(of.captured, current, of.AtMs)
		step.draft.VCS, step.draft.Objects = end.files, of.captured.Objects
	}
	return nil
}

// filesOnly returns the draft of an entry that only records files. vcs has files that an attempt left and that
// the next entry does not have. atMs is the time of the entry.
func (d *drafter) filesOnly(vcs *snapshot.VCS, atMs int64) snapshot.Draft {
	return snapshot.Draft{VCS: vcs, AtMs: atMs, Subject: "files that an attempt left", Limits: d.limits}
}

// addHistory sets the subject of step.draft, and adds the events and the attempts up to a frame. one has the
// frame's facts, and nodes has its nodes. files are the files captured for the frame, or nil.
func (d *drafter) addHistory(line *runLine, step *lineStep, one tables.FrameFacts, files *snapshot.VCS, nodes []snapshot.Node) {
	step.upTo = d.peer.Events.UpTo(line.behind, one.PeerNo, one.AtMs)
	step.draft.Events = line.eventsOf(d.peer, step.upTo, &one)
	step.draft.Subject = dbrun.FrameSubject(d.peer.Events.Between(line.behind, step.upTo), one.PeerNo, one.Frame, nodes)
	d.addAttempts(line, step, one.AtMs, d.attemptFiles(line, one.Frame, files))
}

// addAttempts sets the journals of step and step.draft to the changes since line.journal. The changes show the
// attempts, tool calls and scores as they were at atMs. files names the files that ended attempts left.
func (d *drafter) addAttempts(line *runLine, step *lineStep, atMs int64, files attemptFiles) {
	step.journal = line.journal.changesTo(atMs, d.peer.Attempts, line.done, files)
	step.draft.Journal = append(step.journal.changes, line.journal.callsTo(atMs, d.peer.Calls)...)
	step.draft.Journal = append(step.draft.Journal, line.journal.scoresTo(atMs, d.peer.Scores)...)
}

// attemptFiles returns the value that names the files that ended attempts left, for the journal of the next
// entry of line. frame is the number of the next frame or, if no frame follows, of the newest frame. captured
// has the files captured for that frame, or is nil.
func (d *drafter) attemptFiles(line *runLine, frame int64, captured *snapshot.VCS) attemptFiles {
	return attemptFiles{frame: frame, before: line.before, first: d.isNew, captured: captured, copies: d.peer.Copies}
}
