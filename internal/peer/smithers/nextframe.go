package smithers

import (
	"context"
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

// peerFrame is a frame of Smithers to append.
type peerFrame struct {
	*source.Snapshot

	index    int                     // the index of the frame in the database's list of frames
	captured *jjbridge.CapturedFiles // the captured working copy of the frame, or nil
}

// moment returns the time and the revision of the frame. Together they determine the frame's working copies.
func (f *peerFrame) moment() workcopy.Moment {
	return workcopy.Moment{AtMs: f.AtMs, Pointer: dbrow.TextOf(f.Row, "vcs_pointer")}
}

// draftFrame appends one frame of Smithers to the line. of has the frame's snapshot and captured files. Before the frame, it
// appends an entry for each earlier working copy that no frame has. In a live pass, the newest frame also records the
// progress of the import.
//
// The entry is a frame, with one exception. The first snapshot of a fork becomes an entry that is not a frame if it has no
// new rendered tree and changes nothing but the mailbox.
func (r *runPass) draftFrame(ctx context.Context, of peerFrame) error {
	tree, rendered, wrong := r.treesOf(of)
	end := r.lineEnd
	end.tree, end.based = tree, nil
	if rendered != nil {
		end.ours = string(rendered)
	}
	if end.ours == export.NoTree {
		end.ours = ""
	}
	w, differs, err := r.wholeOf(of.Snapshot, end.ours)
	if err != nil {
		return err
	}
	changes, err := snapshot.ChangesTo(stateOf(r.entry), w)
	if err != nil {
		return err
	}
	moment := of.moment()
	draft := snapshot.Draft{AtMs: of.AtMs, Run: r.During(moment.Pointer), Limits: r.im.limits}
	// The first snapshot of a fork often equals the parent's frame, and then needs no frame of its own.
	if !r.first() || r.entry == nil || rendered != nil || slices.ContainsFunc(changes, ofCore) {
		draft.Frame = &snapshot.FrameDraft{State: changes, Rendered: rendered, Silent: true, Based: r.based}
	} else {
		draft.Mailbox = changes
	}
	passing, err := r.addFiles(&draft, of, &end)
	if err != nil {
		return err
	}
	one := tables.FrameFacts{Frame: r.next(), PeerNo: of.Frame, AtMs: of.AtMs, ContentHash: source.ContentHash(of.Contents)}
	if end.ours != "" {
		one.XMLHash = source.XMLHash(end.ours)
	}
	upTo := r.addHistory(&draft, one, end.files, w.Nodes)
	note, err := r.describe(tree, of.Snapshot, one, differs, wrong)
	if err != nil {
		return err
	}
	end.before = &moment
	pass := r.now.Pass
	if r.live && of.index == len(r.Heads)-1 {
		if pass, err = r.addPass(&draft, one, note, upTo); err != nil {
			return err
		}
	}
	if err := r.appendAll(ctx, append(passing, draft), upTo); err != nil {
		return err
	}
	r.lineEnd, r.now.Pass = end, pass
	r.addFrame(one)
	r.note(one.Frame, note)
	r.out.Frames++
	r.out.Marks = append(r.out.Marks, note.marks...)
	return nil
}

// treesOf returns the rendered tree of a frame in the database and in the repository. of is the frame.
//
// tree is the tree in the database. If the database has no row for the frame, tree is the tree of the previous
// frame. If the row cannot be read, tree is "". rendered is the new tree in the repository. It is nil if tree
// is missing, invalid or equal to r.ours; the frame then keeps r.ours. wrong is the reason why the row
// cannot be read or why the tree is invalid, or nil.
func (r *runPass) treesOf(of peerFrame) (tree string, rendered []byte, wrong error) {
	before := int64(tables.NoNumber)
	if of.index > 0 {
		before = r.Heads[of.index-1].Frame
	}
	tree, wrong = r.Trees.Inflate(r.Trees.Between(r.tree, before, of.Frame), of.Frame)
	if tree == "" || tree == r.ours || tree == export.NoTree && r.ours == "" {
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
// differences between the snapshot's texts and the texts that Write makes of the state. ours is the frame's
// rendered tree. If ours is "", the nodes' needs come from the times of attempts.
func (r *runPass) wholeOf(s *source.Snapshot, ours string) (snapshot.Whole, contents.Shape, error) {
	texts, err := contents.Parse(s.Contents, ours, r.im.limits)
	if err != nil {
		return snapshot.Whole{}, contents.Shape{}, inSnapshot(s, err)
	}
	w, state := texts.Whole, stateOf(r.entry)
	if err := tree.KeepPlaces(w.Nodes, state); err != nil {
		return snapshot.Whole{}, contents.Shape{}, err
	}
	if ours == "" {
		r.PlaceByTime(&w, s.AtMs)
	}
	had, err := signalNumbers(state)
	if err != nil {
		return snapshot.Whole{}, contents.Shape{}, err
	}
	signals := r.box.fill(&w, s.AtMs, had)
	return w, texts.Shape(r.ID, s.Contents, w, signals, r.now.Layout), nil
}

// addFiles sets the working copy of draft to the working copy at the frame of. If there is no new working copy, draft.VCS
// stays nil. It returns an entry for each earlier working copy that no frame has, except before the run's first entry. If
// the frame has captured files, addFiles sets end.files and the working copy of draft to these files.
func (r *runPass) addFiles(draft *snapshot.Draft, of peerFrame, end *lineEnd) (passing []snapshot.Draft, err error) {
	current, err := filesOf(r.entry)
	if err != nil {
		return nil, err
	}
	all := r.Copies.Between(current, r.before, of.moment())
	for i, vcs := range all {
		current = &vcs
		if i < len(all)-1 && !r.first() {
			passing = append(passing, r.filesOnly(&vcs, of.AtMs))
			continue
		}
		draft.VCS = current
	}
	if of.captured != nil {
		end.files = r.Copies.With(of.captured, current, of.AtMs)
		draft.VCS, draft.Objects = end.files, of.captured.Objects
	}
	return passing, nil
}

// filesOnly returns the draft of an entry that only records files. vcs has files that an attempt left and that
// the next entry does not have. atMs is the time of the entry.
func (r *runPass) filesOnly(vcs *snapshot.VCS, atMs int64) snapshot.Draft {
	return snapshot.Draft{VCS: vcs, AtMs: atMs, Subject: "files that an attempt left", Limits: r.im.limits}
}

// addHistory sets the subject of draft, and adds the events and the attempts up to a frame. It returns the number of the
// database's events that are stored then. one has the frame's facts, and nodes has its nodes. files are the files captured
// for the frame, or nil.
func (r *runPass) addHistory(draft *snapshot.Draft, one tables.FrameFacts, files *snapshot.VCS, nodes []snapshot.Node) (upTo int) {
	upTo = r.Events.UpTo(r.behind, one.PeerNo, one.AtMs)
	draft.Events = r.eventsOf(r.Run, upTo, &one)
	draft.Subject = dbrun.FrameSubject(r.Events.Between(r.behind, upTo), one.PeerNo, one.Frame, nodes)
	r.addAttempts(draft, one.AtMs, one.Frame, files)
	return upTo
}

// addAttempts sets the journal of draft to the changes since r.journal. The changes show the attempts, tool calls and scores
// as they were at atMs. frame is the number of the next frame or, if no frame follows, of the newest frame. captured has the
// files captured for that frame, or is nil.
func (r *runPass) addAttempts(draft *snapshot.Draft, atMs, frame int64, captured *snapshot.VCS) {
	files := attemptFiles{frame: frame, before: r.before, first: r.head == nil, captured: captured, copies: r.Copies}
	draft.Journal = append(r.journal.changesTo(atMs, r.Attempts, r.done, files), r.journal.callsTo(atMs, r.Calls)...)
	draft.Journal = append(draft.Journal, r.journal.scoresTo(atMs, r.Scores)...)
}
