package smithers

import (
	"fmt"

	"github.com/git-smithers/git-smithers/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/snapshot"
)

// read reads all that the database has of the run, but for its snapshots.
func (p *peerRun) read() error {
	var names []string
	for _, table := range tables.OfRun(p.tx.Tables()) {
		names = append(names, table.Name)
	}
	if err := p.readThese(names...); err != nil {
		return err
	}
	for row, err := range p.tx.Rows(tables.Columns, "") {
		if err != nil {
			return err
		}
		p.columns = append(p.columns, tables.OutputColumn{
			Table: dbrow.TextOf(row, "table_name"), Column: dbrow.TextOf(row, "column_name"), Kind: dbrow.TextOf(row, "kind"),
		})
	}
	return nil
}

// readForFrames reads what frames are made of.
func (p *peerRun) readForFrames() error {
	return p.readThese(tables.Attempts, tables.Events, tables.Approvals, tables.HumanRequests, tables.Signals)
}

// readThese reads the run's snapshots, rendered trees, and its rows in tables.
func (p *peerRun) readThese(names ...string) (err error) {
	if v := p.row["run_id"]; v.Kind != source.Text {
		return fmt.Errorf("%w: a run's id is no text", source.ErrDamaged)
	}
	p.run, p.at = tables.ReadRun(p.row)
	if p.heads, err = p.tx.Heads(p.id); err != nil {
		return err
	}
	for i := range p.heads {
		p.heads[i].AtMs = dbrow.OurTime(p.heads[i].AtMs)
	}
	p.rows = make(map[string][]source.Row)
	if err := p.readRows(names...); err != nil {
		return err
	}
	p.trees = treeRows{}
	for row, err := range p.tx.Rows(tables.Frames, p.id) {
		if err != nil {
			return err
		}
		if err := p.trees.add(row); err != nil {
			return err
		}
	}
	p.trees.findLonely(p.heads)
	p.sortIn()
	return nil
}

// readRows reads the run's rows in tables.
func (p *peerRun) readRows(names ...string) error {
	for _, table := range names {
		for row, err := range p.tx.Rows(table, p.id) {
			if err != nil {
				return err
			}
			p.rows[table] = append(p.rows[table], row)
		}
	}
	return nil
}

// sortIn makes ours of the rows that have a place in time.
func (p *peerRun) sortIn() {
	for _, row := range p.rows[tables.Attempts] {
		p.addAttempt(row)
	}
	p.events = listEvents(p.id, p.run.Workflow, nil, p.rows[tables.Events])
	p.mail = readMail(p.rows, p.attempts, p.events.all, p.run.CreatedAtMs)
	if p.neverRan() {
		p.run.Status = snapshot.RunPending
	}
	p.copies = p.all.OfRun(p.row, p.rows[tables.Attempts])
}

// addAttempt adds a row of _smithers_attempts.
func (p *peerRun) addAttempt(row source.Row) {
	a, log, ok := tables.ReadAttempt(row)
	if !ok {
		return
	}
	one := attemptRow{attempt: a, log: log}
	if w, ok := tables.ReadWait(row, a); ok {
		one.wait = &w
	}
	p.attempts = append(p.attempts, one)
}

// neverRan reports whether the run is a fork that nobody has started: then Smithers shows the status of the
// run that it was forked from.
func (p *peerRun) neverRan() bool {
	return p.fork != nil && p.run.StartedAtMs == nil && len(p.attempts) == 0 && len(p.trees.rows) == 0 && (p.had == nil || p.had.rendered == 0)
}
