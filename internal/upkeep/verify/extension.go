package verify

import (
	"bytes"
	"fmt"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// extends checks newer, the first own entry of a fork with an extension, against older, the newest entry of the
// extension. newer must name older in its parent, must not be a frame, and must keep the state and the journal of
// older. The frame number in its row must be the frame number in the row of older, minus the number of the frame that
// was forked. The older entries belong to the extended run, so extends makes ops check the ops of that run from now on.
func (v *verifier) extends(older, newer *link, ops *opsVerifier) error {
	p := newer.row.Parent
	switch {
	case p == nil || p.Extension != older.entry.ID:
		return fmt.Errorf("%w: the first own entry of the fork follows %v, but its run.json does not name that entry as the end of the extension", objstore.ErrCorrupt, older.entry.ID)
	case newer.entry.Frame != snapshot.NoFrame:
		return fmt.Errorf("%w: the first own entry of a fork with an extension is a frame", objstore.ErrCorrupt)
	case newer.row.Frame != older.row.Frame-p.Frame:
		return fmt.Errorf("%w: the fork continues at frame %d, expected frame %d - %d", objstore.ErrCorrupt, newer.row.Frame, older.row.Frame, p.Frame)
	}
	if err := firstEvents(newer); err != nil {
		return err
	}
	if err := keepsState(older.stored(), newer.entry); err != nil {
		return err
	}
	if err := v.renumbers(older.stored(), newer); err != nil {
		return err
	}
	if err := ops.first(newer); err != nil {
		return err
	}
	return ops.turn(older.stored())
}

// renumbers checks that newer, the first own entry of a fork, has the same journal as older. Only the frame
// numbers of attempts may differ. renumbers skips the collections that belong to one run, such as ops.
func (v *verifier) renumbers(older *snapshot.Entry, newer *link) error {
	before, err := older.Journal()
	if err != nil {
		return err
	}
	after, err := newer.entry.Journal()
	if err != nil {
		return err
	}
	for i, part := range after {
		if part.OwnToRun {
			continue
		}
		for delta, err := range page.Diff(before[i].Rows, part.Rows) {
			if err == nil {
				err = v.renumbered(part.Name, delta, newer.row.Parent)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", part.Name, err)
			}
		}
	}
	return nil
}

// renumbered returns an error unless delta only changes the frame numbers of an attempt, as a fork from
// parent must change them.
func (v *verifier) renumbered(collection string, delta page.Delta, parent *snapshot.Parent) error {
	if collection == snapshot.CollectionAttempts && delta.From != nil && delta.To != nil {
		attempt, err := snapshot.DecodeAttempt(page.Row{Key: delta.Key, Value: delta.From})
		if err == nil {
			attempt, err = parent.Renumber(v.store.Objects(), attempt)
		}
		if err != nil || bytes.Equal(snapshot.EncodeAttempt(attempt).Value, delta.To) {
			return err
		}
	}
	return fmt.Errorf("%w: %q differs from the row before the fork", objstore.ErrCorrupt, delta.Key)
}

// beginsExtension checks first, the first entry of a fork's extension, against the frame before it, which the fork
// continues. This frame does not belong to the extension. It is an entry of the extended run, the end of the
// extended run's own extension, or an entry of the extended run's parent. Its number must be the number of the
// frame from which the run was forked.
func (v *verifier) beginsExtension(first *link, ops *opsVerifier) error {
	entry, err := snapshot.ReadEntry(v.store.Objects(), first.entry.Parent)
	if err != nil {
		return fmt.Errorf("cannot read the frame from which the run was forked: %w", err)
	}
	row, err := entry.RunRow()
	if err != nil {
		return fmt.Errorf("cannot read the frame from which the run was forked: %w", err)
	}
	seen, err := first.entry.RunRow()
	if err != nil {
		return err
	}
	from := &link{entry, row}
	number := entry.Frame
	parent := first.row.Parent
	switch sameRun := entry.Run == first.stored().Run; {
	case sameRun: // the frame is an entry of the extended run
	case parent != nil && parent.Extension == entry.ID: // the frame ends the extended run's own extension
		number -= parent.Frame
	default:
		number, from = 0, nil // frame 0 of the extended run is a frame of that run's parent
	}
	if begins := first.row.Frame - seen.Frame; entry.Frame == snapshot.NoFrame || number != begins {
		return fmt.Errorf("%w: the run was forked from frame %d, but its first entry follows %v, which is not that frame", objstore.ErrCorrupt, begins, entry.ID)
	}
	if from == nil {
		return v.begins(&link{first.stored(), first.row}, ops)
	}
	ops.met(entry.ID)
	return v.follows(from, first, ops)
}

// sameOrigin returns an error if older and newer, the parents in consecutive entries of a run, differ.
func sameOrigin(older, newer *snapshot.Parent) error {
	if older == nil && newer == nil {
		return nil
	}
	if older == nil || newer == nil || older.RunID != newer.RunID || older.Frame != newer.Frame ||
		older.Commit != newer.Commit || older.Extension != newer.Extension {
		return fmt.Errorf("%w: the run's parent has changed", objstore.ErrCorrupt)
	}
	return nil
}
