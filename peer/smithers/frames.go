package smithers

import (
	"context"
	"fmt"
	"slices"

	"github.com/git-smithers/git-smithers/peer/smithers/contents"
	"github.com/git-smithers/git-smithers/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/peer/smithers/dbrun"
	"github.com/git-smithers/git-smithers/peer/smithers/export"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/peer/smithers/tree"
	"github.com/git-smithers/git-smithers/peer/smithers/workcopy"
	"github.com/git-smithers/git-smithers/snapshot"
)

// appendFrame appends the frame of a snapshot, and before it what nothing else keeps of the
// working copies since the frame before.
func (r *runPass) appendFrame(ctx context.Context, i int) error {
	s, err := r.Snapshot(r.Heads[i].Frame)
	if err != nil {
		return err
	}
	before := int64(tables.NoNumber)
	if i > 0 {
		before = r.Heads[i-1].Frame
	}
	r.tree = r.Trees.Between(r.tree, before, s.Frame)
	tree, wrong := r.Trees.Inflate(r.tree, s.Frame)
	rendered := r.rendered(tree)
	if rendered != nil {
		// A tree that we cannot have is left to Smithers' row, and the frame has the one before.
		if err := snapshot.CheckRendered(rendered); err != nil {
			rendered, wrong = nil, err
		}
	}
	return r.appendSnapshot(ctx, s, i == len(r.Heads)-1, tree, rendered, wrong)
}

// inSnapshot is an error about the texts of a snapshot.
func inSnapshot(s *source.Snapshot, err error) error {
	return fmt.Errorf("snapshot %d: %w", s.Frame, err)
}

// appendSnapshot appends a frame. tree is the rendered tree as Smithers has it, rendered the one that is ours
// from now on (nil: as before), and wrong says why they are not the same.
func (r *runPass) appendSnapshot(ctx context.Context, s *source.Snapshot, newest bool, tree string, rendered []byte, wrong error) error {
	ours := r.ours
	if rendered != nil {
		ours = string(rendered)
	}
	if ours == export.NoTree {
		ours = ""
	}
	w, differs, err := r.wholeOf(s, ours)
	if err != nil {
		return err
	}
	changes, err := snapshot.ChangesTo(stateOf(r.series.Entry()), w)
	if err != nil {
		return err
	}
	draft := snapshot.Draft{AtMs: s.AtMs, Run: r.During(dbrow.TextOf(s.Row, "vcs_pointer")), Limits: r.im.limits}
	if !r.first() || r.series.Entry() == nil || rendered != nil || slices.ContainsFunc(changes, ofCore) {
		draft.Frame = &snapshot.FrameDraft{State: changes, Rendered: rendered, Silent: true, Based: r.based}
	} else {
		draft.Mailbox = changes
	}
	one := tables.FrameFacts{Frame: r.next(), PeerNo: s.Frame, AtMs: s.AtMs, ContentHash: source.ContentHash(s.Contents)}
	if ours != "" {
		one.XMLHash = source.XMLHash(ours)
	}
	if err := r.addFiles(ctx, &draft, newest, dbrow.TextOf(s.Row, "vcs_pointer")); err != nil {
		return err
	}
	line := append(r.line, one) //nolint:gocritic // it is the run's when it is stored
	upTo := r.addHistory(&draft, s, line, w.Nodes)
	one.Tree, r.tree = ours, tree
	if err := r.describe(s, one, differs, wrong); err != nil {
		return err
	}
	s.Contents = source.Contents{} // they may be large, and what is stored now takes as much
	if newest && r.live {
		if err := r.addPass(&draft, one.Frame, upTo); err != nil {
			return err
		}
	}
	if err := r.append(ctx, draft, upTo); err != nil {
		return err
	}
	one.Tree = "" // of the newest it is r.ours
	r.line, r.based, r.ours = append(line[:len(line)-1], one), nil, ours
	r.last, r.before = s.Row, &workcopy.Moment{AtMs: s.AtMs, Pointer: dbrow.TextOf(s.Row, "vcs_pointer")}
	r.out.Frames++
	return nil
}

// wholeOf is the state of a snapshot whose rendered tree is ours ("" for none), and what its texts differ in from those that
// follow from it.
func (r *runPass) wholeOf(s *source.Snapshot, ours string) (snapshot.Whole, contents.Shape, error) {
	texts, err := contents.Parse(s.Contents, ours, r.im.limits)
	if err != nil {
		return snapshot.Whole{}, contents.Shape{}, inSnapshot(s, err)
	}
	w, state := texts.Whole, stateOf(r.series.Entry())
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

// addHistory adds the events and attempts up to a frame, the last of the line. It returns how many events are stored then.
func (r *runPass) addHistory(draft *snapshot.Draft, s *source.Snapshot, line []tables.FrameFacts, nodes []snapshot.Node) (upTo int) {
	frame := line[len(line)-1].Frame
	upTo = r.Events.UpTo(r.behind, s.Frame, s.AtMs)
	draft.Events = r.eventsOf(r.Run, upTo, line)
	draft.Subject = dbrun.FrameSubject(r.Events.Between(r.behind, upTo), s.Frame, frame, nodes)
	draft.Journal = r.journal.changesTo(s.AtMs, r.Attempts, r.attemptFiles(frame))
	return upTo
}

// attemptFiles gives attempts that have ended by the next entry their files.
func (r *runPass) attemptFiles(frame int64) attemptFiles {
	return attemptFiles{frame: frame, before: r.before, first: r.head == nil, captured: r.files, copies: r.Copies}
}

// append appends an entry, with which the events up to one index are stored.
func (r *runPass) append(ctx context.Context, draft snapshot.Draft, upTo int) error {
	if r.first() {
		if err := r.addFirst(ctx, &draft); err != nil {
			return err
		}
	}
	if draft.Frame != nil && len(r.overtakes.ops) > 0 {
		if err := r.overtakes.addTo(&draft, r.series.Entry(), r.next()); err != nil {
			return err
		}
	}
	entry, err := r.series.Append(ctx, draft)
	if err != nil {
		return err
	}
	r.made = append(r.made, entry.ID)
	r.behind, r.opened = upTo, true
	r.store(draft.Events)
	return r.journal.take(draft.Journal)
}

// first reports whether the next entry is the run's first.
func (l *runLine) first() bool { return !l.opened }

// next is the number of the next frame.
func (l *runLine) next() int64 {
	if l.first() {
		return 0
	}
	row, err := l.series.Entry().RunRow()
	if err != nil {
		return 0 // appending says so
	}
	return row.Frame + 1
}

// stateOf is the state of an entry; the empty one for nil and where it cannot be read, which
// appending says.
func stateOf(entry *snapshot.Entry) *snapshot.State {
	if entry != nil {
		if state, err := entry.State(); err == nil {
			return state
		}
	}
	return snapshot.EmptyState()
}

// ofCore reports whether a change is not to the mailbox.
func ofCore(c snapshot.Change) bool {
	switch c.Collection {
	case snapshot.CollectionApprovals, snapshot.CollectionHumanRequests, snapshot.CollectionSignals, snapshot.CollectionWaits:
		return false
	}
	return true
}
