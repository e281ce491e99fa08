package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

const (
	// mostCompared is the number of sessions that are searched for the one from which the agent has forked a session.
	mostCompared = 500
	// mostForeign is the number of lines of such a session that are compared before one is found in the fork's own file.
	mostForeign = 100
	// mostRepeated is the number of entries that a session can have when it becomes a fork.
	mostRepeated = 32
)

// origin is the session from which the agent has forked a session.
type origin struct {
	entry  *snapshot.Entry // the frame from which the session goes on
	mem    *memory         // at this frame
	last   storedLine      // the last line that the fork has, too; its transcript is "" if it is unknown
	copied int64           // the offset in the fork's own file after the beginning of the copy of this line; 0 if nothing was copied
}

// forkedFile is what a session's own file says of the session from which the agent has forked it.
type forkedFile struct {
	of      string           // the run of that session; "" if no line names it
	at      int64            // the Number of its last line that belongs to the fork; 0 if no line says it
	session string           // the agent's own id of the fork; "" if no line has it
	lines   map[string]int64 // the offsets of the lines, by what their copies have
	began   memory           // knows which lines are copies
	firstMs int64            // the time of the oldest line that can be a copy; 0 if no line has a time
	lastMs  int64            // when the file was written
}

// readForked reads the file at path. It returns nil if the session is not a fork. forked says that any line can be a copy: otherwise a line must name the
// other session, or be older than the session.
func readForked(path string, speaks *dialect.Dialect, forked bool) (*forkedFile, error) {
	f := &forkedFile{lines: make(map[string]int64)}
	if info, err := os.Stat(path); err == nil {
		f.lastMs = info.ModTime().UnixMilli()
	}
	for offset := int64(0); ; {
		lines, next, err := readLines(path, offset, speaks, timeline.TranscriptFull, mostRead, mostLines)
		if _, unreadable := errors.AsType[*unreadableError](err); unreadable {
			return nil, nil //nolint:nilnil // the drafter warns
		}
		for _, l := range lines {
			forked = f.take(speaks.Name, l) || forked
		}
		switch {
		case err != nil || f.of == "" && (!forked || len(f.lines) == 0):
			return nil, err
		case next == offset:
			return f, nil
		}
		offset = next
	}
}

// take takes in a line, and reports whether it is a copy.
func (f *forkedFile) take(agent string, l dialect.Line) bool {
	if l.ForkOf != "" && f.of == "" {
		f.of, f.at = Run(agent, l.ForkOf), l.ForkAt
	}
	f.session = cmp.Or(f.session, l.Session)
	if id := idOf(l); id != "" {
		f.lines[id] = l.Offset
		if f.firstMs == 0 || 0 < l.AtMs && l.AtMs < f.firstMs {
			f.firstMs = l.AtMs
		}
	}
	return f.began.isCopy(l)
}

// idOf returns what a line and its copies have, or "".
func idOf(l dialect.Line) string {
	if l.Link != nil {
		return l.Link.ID
	}
	return l.ID
}

// origin returns the session from which the agent has forked the run self: the one with the last line that was copied. It returns nil if the session is not
// recorded here.
func (f *forkedFile) origin(ctx context.Context, s *timeline.Store, agent, self string) (best *origin, err error) {
	runs, err := list.Runs(ctx, s)
	if err != nil {
		return nil, err
	}
	runs = slices.DeleteFunc(runs, func(r list.RunInfo) bool {
		apart := f.firstMs > 0 && (r.UpdatedAtMs < f.firstMs || r.CreatedAtMs > f.lastMs) // the two have no time in common
		return r.WorkflowName != agent || r.RunID == self || apart && r.RunID != f.of
	})
	slices.SortStableFunc(runs, func(a, b list.RunInfo) int { return cmp.Compare(b.UpdatedAtMs, a.UpdatedAtMs) })
	for _, run := range runs[:min(len(runs), mostCompared)] {
		head, err := s.Head(ctx, run.RunID)
		if err != nil {
			continue // verify reports it
		}
		mem, err := memoryOf(head.Entry())
		if err != nil || mem.Agent != agent {
			continue
		}
		o, err := f.compare(s, head.Entry(), mem, self)
		if err != nil {
			return nil, err
		}
		if o != nil && (best == nil || o.copied >= best.copied) {
			best = o // of equal sessions, the last one is the oldest
		}
	}
	return best, nil
}

// compare compares the lines of a session, whose newest entry is given, with those of the file. It returns nil if self is not a fork of the session.
func (f *forkedFile) compare(s *timeline.Store, newest *snapshot.Entry, mem *memory, self string) (*origin, error) {
	rows, err := newest.Transcript()
	if err != nil {
		return nil, timeline.Explain(err)
	}
	o := new(origin)
	foreign := 0
	for line, err := range mem.eachLine(rows, dialect.For(mem.Agent), nil) {
		if err != nil {
			return nil, err
		}
		if line.ForkOf != "" && Run(mem.Agent, line.ForkOf) == self {
			return nil, nil //nolint:nilnil // the session is a fork of self
		}
		if o.last.Number < line.Number && line.Number <= f.at {
			o.last = line
		}
		id := idOf(line.Line)
		if id == "" || 0 < line.AtMs && line.AtMs < mem.BeganMs {
			continue // a copy there, too
		}
		if at, copied := f.lines[id]; copied && at >= o.copied {
			o.copied, o.last = at+1, line
		}
		if foreign++; o.copied == 0 && foreign > mostForeign {
			break
		}
	}
	if o.copied == 0 && newest.Run != f.of {
		return nil, nil //nolint:nilnil // documented
	}
	if o.entry, err = frameBehind(s, newest, o.last); err != nil || o.entry == nil {
		return nil, err
	}
	o.mem, err = memoryOf(o.entry)
	return o, err
}

// frameBehind returns the oldest frame of a session, down from the newest entry, that had read the line; the newest frame if the line is unknown.
func frameBehind(s *timeline.Store, newest *snapshot.Entry, line storedLine) (found *snapshot.Entry, err error) {
	for entry, err := range s.Chain(newest) {
		if err != nil {
			return nil, timeline.Explain(err)
		}
		if entry.Frame == snapshot.NoFrame {
			continue
		}
		mem, err := memoryOf(entry)
		if err != nil {
			return nil, err
		}
		if found != nil && mem.Read[line.of].Offset <= line.Offset {
			break
		}
		if found = entry; line.of == "" {
			break
		}
	}
	return found, nil
}

// series begins the run row of a session that the agent has forked: a fork of the other session's run. The fork has the calls, the prompts and the tokens of its own
// turns alone. head is the run so far, or nil: its entries are replaced.
func (o *origin) series(ctx context.Context, s *timeline.Store, session string, row snapshot.Run, head *timeline.Head) (series *timeline.Series, err error) {
	from := timeline.Address{Run: o.entry.Run, Frame: o.entry.Frame}
	row.Parent = &snapshot.Parent{RunID: from.Run, Frame: from.Frame, Commit: o.entry.ID, AtMs: row.CreatedAtMs}
	draft := snapshot.Draft{
		Frame: &snapshot.FrameDraft{Restore: snapshot.EmptyState()}, Afresh: true, AtMs: row.CreatedAtMs, Subject: fmt.Sprintf("forked from %s", from),
	}
	if draft.Ext, err = o.enter(newMemory(o.mem.Agent, session)).draft(); err != nil {
		return nil, err
	}
	if o.copied == 0 {
		rows, err := o.entry.Transcript()
		if err != nil {
			return nil, timeline.Explain(err)
		}
		if draft.Journal, err = setRows(nil, snapshot.CollectionTranscript, rows); err != nil {
			return nil, err
		}
	}
	if head != nil {
		series, err = timeline.ReplaceSeries(ctx, head, row, o.entry)
	} else {
		series, err = timeline.NewSeries(ctx, s, row, o.entry)
	}
	if err != nil {
		return nil, err
	}
	series.StayOpen()
	if _, err = series.Append(ctx, draft); err != nil {
		series.Close()
		return nil, err
	}
	return series, nil
}

// enter makes mem the memory of the fork, and returns it. If no line was copied, the conversation begins with that of the other session.
func (o *origin) enter(mem *memory) *memory {
	if mem.CopiedTo = o.copied; o.copied > 0 {
		return mem
	}
	theirs := o.mem.Transcripts
	mem.leave(maps.Clone(o.mem.Ends))
	if at := slices.Index(theirs, o.last.of); at >= 0 {
		theirs = theirs[:at+1]
		mem.leave(map[string]lineEnd{o.last.of: o.last.end})
	}
	mem.Sessions, mem.Transcripts = slices.Concat(o.mem.Sessions, mem.Sessions), slices.Concat(theirs, mem.Transcripts)
	return mem
}

// setRows adds changes that set the rows of a collection.
func setRows(changes []snapshot.Change, collection string, rows *page.Collection) ([]snapshot.Change, error) {
	for row, err := range rows.Rows() {
		if err != nil {
			return nil, timeline.Explain(err)
		}
		changes = append(changes, snapshot.SetRow(collection, row))
	}
	return changes, nil
}

// repeat appends the entries of the run so far, with their texts as they are stored.
func (o *origin) repeat(ctx context.Context, s *timeline.Store, series *timeline.Series, newest *snapshot.Entry) error {
	var drafts []*snapshot.Draft // the newest first
	for entry, err := range s.Chain(newest) {
		if err != nil {
			return timeline.Explain(err)
		}
		draft, err := entry.Repeat()
		if err != nil {
			return timeline.Explain(err)
		}
		row, err := entry.RunRow()
		if err != nil {
			return timeline.Explain(err)
		}
		draft.Run = func(r *snapshot.Run) {
			r.Status, r.FinishedAtMs, r.StartedAtMs = row.Status, row.FinishedAtMs, row.StartedAtMs
		}
		mem, err := memoryOf(entry)
		if err != nil {
			return err
		}
		if draft.Ext, err = o.enter(mem).draft(); err != nil {
			return err
		}
		journal, err := entry.Journal()
		if err != nil {
			return timeline.Explain(err)
		}
		for _, part := range journal {
			if draft.Journal, err = setRows(draft.Journal, part.Name, part.Rows); err != nil {
				return err
			}
		}
		drafts = append(drafts, draft)
	}
	for _, draft := range slices.Backward(drafts) {
		if _, err := series.Append(ctx, *draft); err != nil {
			return err
		}
	}
	return nil
}

// beginFork makes the run of the session a fork, if the agent has forked the session from another one that is recorded here, and no hook has read its own file
// before. head is the newest entry of the run, or nil. beginFork returns the new one.
func (r *recorder) beginFork(ctx context.Context, head *timeline.Head) (*timeline.Head, error) {
	if r.ev.Transcript == "" || head != nil && (head.Row().Parent != nil || head.Row().Frame >= mostRepeated) {
		return head, nil
	}
	now := r.store.Now().UnixMilli()
	row := snapshot.Run{ID: Run(r.agent, r.ev.Session), Workflow: r.agent, Status: snapshot.RunRunning, CreatedAtMs: now, StartedAtMs: &now}
	if head != nil {
		mem, err := memoryOf(head.Entry())
		if err != nil || mem.Read[mem.transcript()].Offset > 0 {
			return head, err
		}
		row = head.Row()
	}
	file, err := readForked(r.ev.Transcript, r.speaks, r.ev.Forked)
	if err != nil || file == nil {
		return head, err
	}
	o, err := file.origin(ctx, r.store, r.agent, row.ID)
	if err != nil || o == nil {
		return head, err
	}
	fork, err := o.fork(ctx, r.store, r.ev.Session, row, head)
	if code := fault.CodeOf(err); err != nil && code != fault.Conflict && code != fault.RunExists {
		r.store.Warn(fmt.Errorf("the session was not recorded as a fork of %s: %w", o.entry.Run, err))
		return head, nil
	}
	return fork, err
}

// fork makes the run of a session that the agent has forked: see series.
func (o *origin) fork(ctx context.Context, s *timeline.Store, session string, row snapshot.Run, head *timeline.Head) (*timeline.Head, error) {
	series, err := o.series(ctx, s, session, row, head)
	if err != nil {
		return nil, err
	}
	defer series.Close()
	if head != nil {
		if err := o.repeat(ctx, s, series, head.Entry()); err != nil {
			return nil, err
		}
	}
	return series.Commit(ctx)
}
