package smithers

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/stored"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/snapshot"
)

// addFirst prepares draft, the first entry of a run. A later fork may begin at any frame of the run, so the first entry
// gets the parts of ext/smithers that such a fork needs: the layout of outputs, the schema, and the run's row. If the run itself is a fork, these parts replace the ext/smithers of its parent. addFirst sets r.ext to
// these parts. If the run is not a fork and draft has a working copy, addFirst also sets the draft's base commit.
func (r *runPass) addFirst(ctx context.Context, draft *snapshot.Draft) error {
	had, err := stored.ReadPeer(r.entry) // the ext/smithers of a fork's parent; else empty
	if err != nil {
		return err
	}
	// The new Pass must differ from the parent's Pass: see stored.ReadTip.
	first := &stored.Peer{Layout: r.now.Layout, Schema: r.Schema(r.Knows), Pass: stored.Pass{Number: had.Pass.Number + 1, Form: stored.Form}}
	changes, err := stored.TableChanges(r.entry, map[string][]dbrow.KeptRow{tables.Runs: r.kept[tables.Runs]})
	if err != nil {
		return err
	}
	if err := stored.DropSnapshots(changes, r.entry); err != nil {
		return err
	}
	if draft.Ext, err = stored.Changes(had, first, changes); err != nil {
		return err
	}
	r.ext = first
	if draft.VCS != nil && r.parent == nil {
		draft.Base, err = r.im.copies.Base(ctx, draft.VCS)
	}
	return err
}

// appendExt appends the last entry of a pass. The entry has the new Pass and the rows of tables. changed reports
// whether the pass has appended other entries.
//
// If changed is false and the ext/smithers of the run would stay the same, appendExt appends nothing. It still
// appends the entry if an earlier pass of a watch imported only frames, because the new Pass then has the digest
// of all rows.
func (r *runPass) appendExt(ctx context.Context, changed bool) error {
	changes, err := stored.TableChanges(r.entry, r.kept)
	if err != nil {
		return err
	}
	stored.AddSnapshots(changes, r.snapshots)
	r.now.Schema, r.now.Pass = r.Schema(r.Knows), r.ext.Pass
	draft, err := stored.Changes(r.ext, r.now, changes)
	whole := !r.imported || r.ext.Pass.Rows != "" // false if a live pass left the other rows to this pass
	if err != nil || draft == nil && !changed && whole {
		return err
	}
	row, err := r.entry.RunRow()
	if err != nil {
		return err
	}
	r.now.Pass = stored.Pass{
		Number: r.ext.Pass.Number + 1, Frame: row.Frame, Events: int64(r.behind), Form: stored.Form, Rows: r.found,
		NoTrees: r.Tx.Table(tables.Frames) == nil,
	}
	if draft, err = stored.Changes(r.ext, r.now, changes); err != nil {
		return err
	}
	return r.append(ctx, snapshot.Draft{Ext: draft, AtMs: r.entry.AtMs, Subject: "imported", Limits: r.im.limits}, r.behind)
}
