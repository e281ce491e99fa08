package smithers

import (
	"context"
	"slices"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/stored"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/snapshot"
)

// addFirst prepares draft, the first entry of a run. A later fork may begin at any frame of the run, so the first entry
// gets the parts of ext/smithers that such a fork needs: the layout of outputs, the schema, and the overrides of the
// run's row. If the run itself is a fork, these parts replace the ext/smithers of its parent. addFirst sets r.ext to
// these parts. If the run is not a fork and draft has a working copy, addFirst also sets the draft's base commit.
func (r *runPass) addFirst(ctx context.Context, draft *snapshot.Draft) error {
	row := snapshot.Run{Parent: r.parent} // the run's row after this pass, without frame and event numbers
	if r.head != nil {
		row = r.head.Row()
	}
	r.Ended(&row)
	over, err := r.Overrides(*r.Tx.Table(tables.Runs), &tables.Facts{Run: row})
	if err != nil {
		return err
	}
	had, err := stored.ReadPeer(r.entry) // the ext/smithers of a fork's parent; else empty
	if err != nil {
		return err
	}
	// The new Pass must differ from the parent's Pass: see stored.ReadTip.
	first := &stored.Peer{Layout: r.now.Layout, Schema: r.Schema(r.Knows), Tables: map[string][]dbrow.Override{}, Pass: stored.Pass{Number: had.Pass.Number + 1, Predictions: stored.Predictions}}
	if len(over) > 0 {
		first.Tables[tables.Runs] = over
	}
	if draft.Ext, err = stored.Changes(had, first); err != nil {
		return err
	}
	r.ext = first
	if draft.VCS != nil && r.parent == nil {
		draft.Base, err = r.im.copies.Base(ctx, draft.VCS)
	}
	return err
}

// appendExt appends the last entry of a pass. The entry has the new Pass, and the differences between the
// database's rows and the predicted rows. changed reports whether the pass has appended other entries.
//
// If changed is false and the ext/smithers of the run would stay the same, appendExt appends nothing. It still
// appends the entry if an earlier pass of a watch imported only frames, because the new Pass then has the digest
// of all rows.
func (r *runPass) appendExt(ctx context.Context, changed bool) error {
	entry := r.entry
	f, err := stored.FactsAt(entry)
	if err != nil {
		return err
	}
	f.Events, f.Frames = r.stored, slices.Clone(r.line)
	// The predictions need the rendered tree of the newest frame, which the facts in r.line may lack.
	if n := len(f.Frames); n > 0 {
		f.Frames[n-1].Tree = r.ours
	}
	if err := r.describeTables(f); err != nil {
		return err
	}
	r.now.Pass = r.ext.Pass
	draft, err := stored.Changes(r.ext, r.now)
	whole := !r.imported || r.ext.Pass.Rows != "" // false if a live pass left the other rows to this pass
	if err != nil || draft == nil && !changed && whole {
		return err
	}
	r.now.Pass = stored.Pass{
		Number: r.ext.Pass.Number + 1, Frame: f.Run.Frame, Events: int64(r.behind), Predictions: stored.Predictions,
		Rows: r.found, Movable: r.MovableDigest(),
	}
	if draft, err = stored.Changes(r.ext, r.now); err != nil {
		return err
	}
	return r.append(ctx, snapshot.Draft{Ext: draft, AtMs: entry.AtMs, Subject: "imported", Limits: r.im.limits}, r.behind)
}

// describeTables sets r.now.Schema, and sets r.now.Tables to the differences between the database's rows and the
// rows predicted from f. Two kinds of rows have no prediction, so r.now.Tables has all of them: rows that belong
// to no single run, and rows of _smithers_frames without a snapshot.
func (r *runPass) describeTables(f *tables.Facts) error {
	r.now.Tables, r.now.Schema = map[string][]dbrow.Override{}, r.Schema(r.Knows)
	note := func(table string, over []dbrow.Override, err error) error {
		if len(over) > 0 {
			r.now.Tables[table] = over
		}
		return err
	}
	for _, table := range tables.OfRun(r.Tx.Tables()) {
		over, err := r.Overrides(table, f)
		if err := note(table.Name, over, err); err != nil {
			return err
		}
	}
	for _, one := range r.im.left {
		over, err := dbrow.Differences(one.Table, nil, one.Rows, r.At)
		if err := note(one.Table.Name, over, err); err != nil {
			return err
		}
	}
	if table := r.Tx.Table(tables.Frames); table != nil {
		over, err := dbrow.Differences(*table, nil, r.LonelyFrames(), r.At)
		return note(tables.Frames, over, err)
	}
	return nil
}
