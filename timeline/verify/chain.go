package verify

import (
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
)

// link is an entry of a chain that is sound by itself, and its row as it is stored: a
// view is checked as the entry that it is a view of.
type link struct {
	entry *snapshot.Entry
	row   snapshot.Run
}

func (l *link) stored() *snapshot.Entry { return l.entry.Stored() }

// follows checks what an entry makes of the one before it in its run, or in the one that
// it extends.
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

// begins checks the first entry of a run's chain.
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

// firstEvents checks that the events of a run's first own entry count from 0.
func firstEvents(first *link) error {
	events, err := first.entry.Events()
	if err == nil && first.row.NextSeq != int64(len(events)) {
		err = fmt.Errorf("%w: the run's first event is %d", objstore.ErrCorrupt, first.row.NextSeq-int64(len(events)))
	}
	return err
}

// countsOn checks the numbers of an entry against those of the row before it.
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
		return fmt.Errorf("%w: event %d is due, and the next one is %d", objstore.ErrCorrupt, older.NextSeq, seq)
	}
	return nil
}

// keepsState checks that an entry which is no frame changes nothing of the state but
// the mailbox.
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
	return nil
}

// keepsJournal checks what an entry adds to the journal and changes in it, and that
// nothing is lost. Where a collection is the same, nothing of it is read.
func keepsJournal(older, newer *snapshot.Entry) error {
	before, beforeErr := older.Journal()
	after, afterErr := newer.Journal()
	if err := errors.Join(beforeErr, afterErr); err != nil {
		return err
	}
	for i, part := range after {
		for delta, err := range page.Diff(before[i].Rows, part.Rows) {
			switch {
			case err != nil:
			case delta.To == nil:
				err = fmt.Errorf("%w: %q is lost", objstore.ErrCorrupt, delta.Key)
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

// beginsJournal checks every row that a run's first own entry has in its journal.
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
