package smithers

import (
	"context"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/peer/smithers/kept"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/snapshot"
)

// addFirst gives the first entry of a run what every frame that can be forked has: how its outputs are
// laid out, the tables that it has, and the run's row.
func (r *runPass) addFirst(ctx context.Context, draft *snapshot.Draft) error {
	row := snapshot.Run{Parent: r.parent} // as this pass leaves it, except for its numbers
	if r.head != nil {
		row = r.head.Row()
	}
	r.ended(&row)
	over, err := r.overrides(*r.tx.Table(tables.Runs), &tables.Facts{Run: row})
	if err != nil {
		return err
	}
	// What a fork has from its parent is not its own.
	if r.was, err = kept.ReadPeer(r.series.Entry()); err != nil {
		return err
	}
	first := &kept.Peer{Layout: r.now.Layout, Schema: r.schema(r.knows), Tables: map[string][]dbrow.Override{}, Pass: kept.Pass{Number: r.was.Pass.Number + 1}}
	if len(over) > 0 {
		first.Tables[tables.Runs] = over
	}
	if draft.Ext, err = kept.Changes(r.was, first); err != nil {
		return err
	}
	r.was = first
	if draft.VCS != nil && r.parent == nil {
		draft.Base, err = r.im.copies.Base(ctx, draft.VCS)
	}
	return err
}

// appendExt appends what of the database's rows does not follow from the run; changed tells whether
// the run has changed.
func (r *runPass) appendExt(ctx context.Context, changed bool) error {
	entry := r.series.Entry()
	f, err := kept.FactsAt(entry)
	if err != nil {
		return err
	}
	f.Events, f.Frames = r.stored, slices.Clone(r.line)
	if n := len(f.Frames); n > 0 {
		f.Frames[n-1].Tree = r.ours
	}
	if err := r.describeTables(f); err != nil {
		return err
	}
	r.now.Pass = r.was.Pass
	draft, err := kept.Changes(r.was, r.now)
	whole := !r.imported || r.was.Pass.Rows != "" // live passes left the rest to this one
	if err != nil || draft == nil && !changed && whole {
		return err
	}
	r.now.Pass = kept.Pass{
		Number: r.was.Pass.Number + 1, Frame: f.Run.Frame, Events: int64(r.behind), Rows: r.found, Movable: r.movableDigest(),
	}
	if draft, err = kept.Changes(r.was, r.now); err != nil {
		return err
	}
	return r.append(ctx, snapshot.Draft{Ext: draft, AtMs: entry.AtMs, Subject: "imported", Limits: r.im.limits}, r.behind)
}

// describeTables notes what of the tables' rows is not as predicted.
func (r *runPass) describeTables(f *tables.Facts) error {
	r.now.Tables, r.now.Schema = map[string][]dbrow.Override{}, r.schema(r.knows)
	note := func(table string, over []dbrow.Override, err error) error {
		if len(over) > 0 {
			r.now.Tables[table] = over
		}
		return err
	}
	for _, table := range tables.OfRun(r.tx.Tables()) {
		over, err := r.overrides(table, f)
		if err := note(table.Name, over, err); err != nil {
			return err
		}
	}
	for _, one := range r.im.left {
		over, err := dbrow.Differences(one.table, nil, one.rows, r.at)
		if err := note(one.table.Name, over, err); err != nil {
			return err
		}
	}
	if table := r.tx.Table(tables.Frames); table != nil {
		over, err := dbrow.Differences(*table, nil, r.lonelyFrames(), r.at)
		return note(tables.Frames, over, err)
	}
	return nil
}

// overrides are what leads from the predicted rows of a table to the run's.
func (p *peerRun) overrides(table source.Table, f *tables.Facts) ([]dbrow.Override, error) {
	predicted, err := tables.Predict(f, table, p.columns)
	if err != nil {
		return nil, err
	}
	return dbrow.Differences(table, predicted, p.rows[table.Name], p.at)
}

// lonelyFrames are the rows of _smithers_frames without a snapshot.
func (p *peerRun) lonelyFrames() []source.Row {
	var rows []source.Row
	for _, no := range p.trees.lonely {
		rows = append(rows, p.trees.rows[no])
	}
	return rows
}

// schema describes those of the wanted tables that are not exactly Smithers 0.32.0's own.
func (p *peerRun) schema(wanted func(source.Table) bool) []kept.SchemaLine {
	var lines []kept.SchemaLine
	for _, t := range p.tx.Tables() {
		if same, ok := p.own[t.Name]; !wanted(t) || ok && same.Same(&t) {
			continue
		}
		line := kept.SchemaLine{Table: t.Name, SQL: t.SQL}
		for _, c := range p.columns {
			if c.Table == t.Name {
				line.Columns = append(line.Columns, [2]string{c.Column, c.Kind})
			}
		}
		lines = append(lines, line)
	}
	slices.SortFunc(lines, func(a, b kept.SchemaLine) int { return strings.Compare(a.Table, b.Table) })
	return lines
}

// uses reports whether a table has anything of the run.
func (p *peerRun) uses(table source.Table) bool {
	name := table.Name
	switch {
	case len(p.rows[name]) > 0, name == tables.Frames && len(p.trees.rows) > 0, name == tables.Snapshots && len(p.heads) > 0:
		return true
	}
	return slices.ContainsFunc(p.left, func(u unowned) bool { return u.table.Name == name })
}

// knows reports whether the run uses a table, or may come to put outputs into it.
func (p *peerRun) knows(table source.Table) bool {
	return p.uses(table) || tables.IsOutputs(table) && slices.ContainsFunc(p.columns, func(c tables.OutputColumn) bool { return c.Table == table.Name })
}
