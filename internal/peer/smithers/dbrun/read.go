package dbrun

import (
	"fmt"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Read sets p to the run in the database. It reads all rows of the run, but not the contents of snapshots. It
// also reads the list of output columns. The error is source.ErrDamaged if the run's id is not a text.
func (p *Run) Read() error {
	var names []string
	for _, table := range tables.OfRun(p.Tx.Tables()) {
		names = append(names, table.Name)
	}
	if err := p.readThese(names...); err != nil {
		return err
	}
	for row, err := range p.Tx.Rows(tables.Columns, "") {
		if err != nil {
			return err
		}
		p.columns = append(p.columns, tables.OutputColumn{
			Table: dbrow.TextOf(row, "table_name"), Column: dbrow.TextOf(row, "column_name"), Kind: dbrow.TextOf(row, "kind"),
		})
	}
	return nil
}

// ReadForFrames sets p to the run in the database, like Read, but reads only the rows that new frames need:
// snapshots, rendered trees, attempts, events and the mailbox.
func (p *Run) ReadForFrames() error {
	return p.readThese(tables.Frames, tables.Attempts, tables.Events, tables.Approvals, tables.HumanRequests, tables.Signals, tables.ToolCalls, tables.Scorers)
}

// readThese reads the run's snapshots without contents, and the run's rows in the named tables, among them the rendered
// trees.
// It converts the run's row, the attempts, the events and the mailbox. The error is source.ErrDamaged if the run's id
// is not a text.
func (p *Run) readThese(names ...string) (err error) {
	if v := p.Row["run_id"]; v.Kind != source.Text {
		return fmt.Errorf("%w: a run's id is not a text", source.ErrDamaged)
	}
	p.Ours, p.At = tables.ReadRun(p.Row)
	if p.Heads, err = p.Tx.Heads(p.ID); err != nil {
		return err
	}
	for i := range p.Heads {
		p.Heads[i].AtMs = dbrow.OurTime(p.Heads[i].AtMs)
	}
	p.Rows = make(map[string][]source.Row)
	for _, table := range names {
		for row, err := range p.Tx.Rows(table, p.ID) {
			if err != nil {
				return err
			}
			p.Rows[table] = append(p.Rows[table], row)
		}
	}
	p.Trees = Trees{}
	for _, row := range p.Rows[tables.Frames] {
		if err := p.Trees.add(row); err != nil {
			return err
		}
	}
	p.Trees.findLonely(p.Heads)
	p.sortIn()
	return nil
}

// sortIn sets p.Attempts, p.Calls, p.Scores, p.Events, p.Mail and p.Copies from p.Rows. It skips invalid rows. If the run never ran, sortIn also sets its
// status to pending.
func (p *Run) sortIn() {
	for _, row := range p.Rows[tables.Attempts] {
		p.addAttempt(row)
	}
	for _, row := range p.Rows[tables.ToolCalls] {
		if c, ok := tables.ReadToolCall(row); ok {
			p.Calls = append(p.Calls, c)
		}
	}
	for _, row := range p.Rows[tables.Scorers] {
		if s, ok := tables.ReadScore(row); ok {
			p.Scores = append(p.Scores, s)
		}
	}
	p.Events = listEvents(p.ID, p.Ours.Workflow, p.Rows[tables.Events])
	p.Mail = ReadMail(p.Rows, p.Attempts, p.Events.All, p.Ours.CreatedAtMs)
	if p.neverRan() {
		p.Ours.Status = snapshot.RunPending
	}
	p.Copies = p.All.OfRun(p.Row, p.Rows[tables.Attempts])
}

// addAttempt adds the attempt of a row of _smithers_attempts to p.Attempts, with its wait if it is a wait. It
// skips an invalid row.
func (p *Run) addAttempt(row source.Row) {
	a, log, ok := tables.ReadAttempt(row)
	if !ok {
		return
	}
	one := Attempt{Attempt: a, Log: log}
	if w, ok := tables.ReadWait(row, a); ok {
		one.Wait = &w
	}
	p.Attempts = append(p.Attempts, one)
}

// neverRan reports whether the run is a fork that was never started: it has no start time, no attempts and no
// rendered trees. In Smithers, such a fork has the status of its parent.
func (p *Run) neverRan() bool {
	return p.Fork != nil && p.Ours.StartedAtMs == nil && len(p.Attempts) == 0 && len(p.Trees.Rows) == 0
}
