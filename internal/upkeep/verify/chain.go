package verify

import (
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// link is a valid entry of a chain, with the run's row as stored in the entry. The entry may be a view (see
// snapshot.Entry.Stored); the checks use the stored entry behind the view.
type link struct {
	entry *snapshot.Entry
	row   snapshot.Run
}

// stored returns the entry as it is stored. If l.entry is a view, the stored entry has another run id and another
// frame number than l.entry.
func (l *link) stored() *snapshot.Entry { return l.entry.Stored() }

// follows checks newer against older, the entry before it in the chain: the numbers in the run's row, the state,
// the journal and the ops. If older belongs to another run, which the run of newer extends, follows makes the
// checks of extends instead.
func (v *verifier) follows(older, newer *link, ops *opsVerifier) error {
	newer = &link{newer.stored(), newer.row}
	if older.stored().Run != newer.entry.Run {
		return v.extends(older, newer, ops)
	}
	if err := countsOn(older.row, newer); err != nil {
		return err
	}
	if err := keepsState(older.stored(), newer.entry); err != nil {
		return err
	}
	if err := keepsJournal(older.stored(), newer.entry); err != nil {
		return err
	}
	return ops.step(older.stored(), newer)
}

// begins checks first, the first entry of the chain of a run: its events, its journal and its ops. If the run is a
// fork and first is not a frame, first must have the same state as the frame from which the run was forked. If the
// run begins with an extension, begins makes the checks of beginsExtension instead.
func (v *verifier) begins(first *link, ops *opsVerifier) error {
	if first.entry.IsView() {
		return v.beginsExtension(first, ops)
	}
	if err := firstEvents(first); err != nil {
		return err
	}
	if parent := first.row.Parent; parent != nil && first.entry.Frame == snapshot.NoFrame {
		from, err := snapshot.ReadEntry(v.store.Objects(), parent.Commit)
		if err != nil {
			return fmt.Errorf("the frame that the run was forked from: %w", err)
		}
		if err := keepsState(from, first.entry); err != nil {
			return err
		}
	}
	if err := beginsJournal(first.entry); err != nil {
		return err
	}
	return ops.first(first)
}

// firstEvents checks that the event numbers of a run begin at 0. first is the first own entry of the run, and
// first.row.NextSeq is the number after the last event of first.
func firstEvents(first *link) error {
	events, err := first.entry.Events()
	if err == nil && first.row.NextSeq != int64(len(events)) {
		err = fmt.Errorf("%w: the run's events begin at number %d, expected 0", objstore.ErrCorrupt, first.row.NextSeq-int64(len(events)))
	}
	return err
}

// countsOn compares newer with older, the row of the entry before. It returns an error in these cases:
//   - The frame number neither stays the same nor grows by 1.
//   - The epoch becomes lower.
//   - The parent changes.
//   - The event numbers of newer do not continue the event numbers of older.
func countsOn(older snapshot.Run, newer *link) error {
	row := newer.row
	if row.Frame != older.Frame && row.Frame != older.Frame+1 {
		return fmt.Errorf("%w: frame %d is followed by frame %d", objstore.ErrCorrupt, older.Frame, row.Frame)
	}
	if row.Epoch < older.Epoch {
		return fmt.Errorf("%w: epoch %d is followed by epoch %d", objstore.ErrCorrupt, older.Epoch, row.Epoch)
	}
	if err := sameOrigin(older.Parent, row.Parent); err != nil {
		return err
	}
	events, err := newer.entry.Events()
	if err != nil {
		return err
	}
	if seq := row.NextSeq - int64(len(events)); seq != older.NextSeq {
		return fmt.Errorf("%w: the next event has the number %[3]d, expected %[2]d", objstore.ErrCorrupt, older.NextSeq, seq)
	}
	return nil
}

// keepsState returns an error if newer is not a frame and has another state or another rendered tree than older. The
// mailbox in the state may differ.
func keepsState(older, newer *snapshot.Entry) error {
	if newer.Frame != snapshot.NoFrame {
		return nil
	}
	before, err := older.State()
	if err != nil {
		return err
	}
	after, err := newer.State()
	if err != nil {
		return err
	}
	if !snapshot.SameCore(before, after) {
		return fmt.Errorf("%w: an entry that is no frame changes the state", objstore.ErrCorrupt)
	}
	renderedBefore, beforeErr := older.RenderedID()
	renderedAfter, afterErr := newer.RenderedID()
	if err := errors.Join(beforeErr, afterErr); err != nil {
		return err
	}
	if renderedBefore != renderedAfter {
		return fmt.Errorf("%w: an entry that is no frame changes the rendered tree", objstore.ErrCorrupt)
	}
	return nil
}

// keepsJournal checks every row that newer adds to, or changes in, the journal of older. It returns an error if
// newer removes a row. It reads only changed collections.
func keepsJournal(older, newer *snapshot.Entry) error {
	before, beforeErr := older.Journal()
	after, afterErr := newer.Journal()
	if err := errors.Join(beforeErr, afterErr); err != nil {
		return err
	}
	// Both journals list the same collections in the same order.
	for i, part := range after {
		for delta, err := range page.Diff(before[i].Rows, part.Rows) {
			switch {
			case err != nil:
			case delta.To == nil:
				err = fmt.Errorf("%w: an entry removes the row %q", objstore.ErrCorrupt, delta.Key)
			default:
				err = part.Check(page.Row{Key: delta.Key, Value: delta.To})
			}
			if err != nil {
				return fmt.Errorf("%s: %w", part.Name, err)
			}
		}
	}
	return nil
}

// beginsJournal checks every row in the journal of first, the first own entry of a run.
func beginsJournal(first *snapshot.Entry) error {
	journal, err := first.Journal()
	if err != nil {
		return err
	}
	for _, part := range journal {
		for row, err := range part.Rows.Rows() {
			if err == nil {
				err = part.Check(row)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", part.Name, err)
			}
		}
	}
	return nil
}
