package inspect

import (
	"context"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
)

// eventsEvery is how often events --follow looks for a new tip of the run.
const eventsEvery = 250 * time.Millisecond

// An eventFollower prints the events of a run, and each new event soon after it was stored.
type eventFollower struct {
	s      *session.Session
	store  *timeline.Store
	head   *timeline.Head
	query  sqliteindex.EventQuery // selects the events that are not printed yet
	widths []int                  // the widths of the columns so far
}

// follow prints the events that the query selects, and then each new event that the query selects. It returns when the
// run has ended, or when the limit of the query is reached.
func (f *eventFollower) follow(ctx context.Context) error {
	for {
		// Read the row before the events. If the row says that the run has ended, the events are then complete.
		ended := f.head.Row().Status.Ended()
		enough, err := f.print(ctx)
		if err != nil || enough || ended {
			return err
		}
		if err := waitForTip(ctx, f.head); err != nil {
			return err
		}
	}
}

// print prints the events that f.query selects. It then changes f.query so that the next call prints only later events,
// and so that the limit counts the events of all calls. enough is true if the limit is reached. If there is no limit,
// enough is false.
func (f *eventFollower) print(ctx context.Context) (enough bool, err error) {
	index, err := f.store.Details(ctx, f.query.RunID)
	if err != nil {
		return false, err
	}
	list, err := index.Events(ctx, f.query)
	if err != nil {
		return false, err
	}
	if f.s.JSON {
		err = writeEvents(f.s, list)
	} else {
		err = f.printLines(list)
	}
	if len(list) > 0 {
		f.query.After = &list[len(list)-1].Seq
	}
	if f.query.Limit == 0 {
		return false, err
	}
	f.query.Limit -= len(list)
	return f.query.Limit == 0, err
}

// printLines prints a line for each event. At a terminal, it aligns the columns to the widest text so far, because
// later events are not known.
func (f *eventFollower) printLines(list []sqliteindex.EventRow) error {
	var t term.Table
	for _, event := range list {
		t.Add(eventCells(event)...)
	}
	if !f.s.IsTerminalOut() {
		return t.Write(f.s.Terminal)
	}
	var b strings.Builder
	for _, row := range t.Rows {
		for i, c := range row {
			if i == len(f.widths) {
				f.widths = append(f.widths, 0)
			}
			f.widths[i] = max(f.widths[i], term.Width(c.Text))
		}
		b.WriteString(term.AlignedLine(row, f.widths) + "\n")
	}
	return f.s.Printf("%s", b.String())
}

// waitForTip waits until a run has a new tip. It reads the tip every eventsEvery. It returns the error of ctx if ctx ends
// first, or the error of reading the tip.
func waitForTip(ctx context.Context, head *timeline.Head) error {
	ticker := time.NewTicker(eventsEvery)
	defer ticker.Stop()
	for tip := head.Entry(); head.Entry() == tip; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		if err := head.Refresh(ctx); err != nil {
			return err
		}
	}
	return nil
}
