package agent

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/objstore/page"
	"github.com/git-smithers/git-smithers/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
	"github.com/git-smithers/git-smithers/timeline/list"
)

const (
	// mostCompared is the number of sessions that are searched for the one from which the agent has forked a session.
	mostCompared = 500
	// mostRepeated is the number of entries that a session can have when it becomes a fork.
	mostRepeated = 32
)

// origin is the session from which the agent has forked a session.
type origin struct {
	entry  *snapshot.Entry // the frame from which the session goes on
	mem    *memory         // at this frame
	shared bool            // the fork's own file has copies of the lines
}

// findOrigin returns the session from which the agent has forked the session self, or nil if it is not recorded here. lines are the first lines of the
// fork's own file: copies of the lines of the other session, or a header that names it.
func findOrigin(ctx context.Context, s *timeline.Store, agent, self string, lines []dialect.Line) (*origin, error) {
	named := ""
	if i := slices.IndexFunc(lines, func(l dialect.Line) bool { return l.ForkOf != "" }); i >= 0 {
		named = Run(agent, lines[i].ForkOf)
	}
	runs, err := list.Runs(ctx, s)
	if err != nil {
		return nil, err
	}
	runs = slices.DeleteFunc(runs, func(r list.RunInfo) bool { return r.WorkflowName != agent || r.RunID == self })
	slices.SortStableFunc(runs, func(a, b list.RunInfo) int { return cmp.Compare(b.UpdatedAtMs, a.UpdatedAtMs) })
	var best *origin
	most := 0
	for _, run := range runs[:min(len(runs), mostCompared)] {
		head, err := s.Head(ctx, run.RunID)
		if err != nil {
			continue // verify reports it
		}
		mem, err := memoryOf(head.Entry())
		if err != nil || mem.Agent != agent {
			continue
		}
		shared, at, err := sharedLines(head.Entry(), mem, lines)
		if err != nil {
			return nil, err
		}
		if shared == 0 && run.RunID != named || shared < most {
			continue
		}
		entry, err := frameBehind(s, head.Entry(), at)
		if err != nil || entry == nil {
			return nil, err
		}
		if mem, err = memoryOf(entry); err != nil {
			return nil, err
		}
		best, most = &origin{entry, mem, shared > 0}, max(shared, 1) // of equal sessions, the last one is the oldest
	}
	return best, nil
}

// sharedLines returns how many of lines a session has, too, and the place of the last of them in the session's transcripts.
func sharedLines(entry *snapshot.Entry, mem *memory, lines []dialect.Line) (shared int, last snapshot.TranscriptRange, err error) {
	i := slices.IndexFunc(lines, func(l dialect.Line) bool { return l.Link != nil })
	if i < 0 {
		return 0, last, nil
	}
	rows, err := entry.Transcript()
	if err != nil {
		return 0, last, timeline.Explain(err)
	}
	begins, err := beginsWith(rows, mem, lines[i].Link.ID)
	if err != nil || !begins {
		return 0, last, err
	}
	theirs, err := placesOf(rows, mem)
	for _, l := range lines {
		if l.Link == nil {
			continue
		}
		if at, ok := theirs[l.Link.ID]; ok {
			shared, last = shared+1, at
		}
	}
	return shared, last, err
}

// beginsWith reports whether one of the first rows of a session's transcripts has the ID of a line.
func beginsWith(rows *page.Collection, mem *memory, id string) (bool, error) {
	const first = 3
	seen := make(map[string]int)
	for key, err := range rows.Keys() {
		if err != nil {
			return false, timeline.Explain(err)
		}
		name, _, err := snapshot.SplitTranscriptKey(key)
		if err != nil {
			return false, timeline.Explain(err)
		}
		if seen[name]++; seen[name] > first || !slices.Contains(mem.Transcripts, name) {
			continue
		}
		value, _, err := rows.Get(key)
		if err != nil {
			return false, timeline.Explain(err)
		}
		if bytes.Contains(value, []byte(`"`+id+`"`)) {
			return true, nil
		}
	}
	return false, nil
}

// placesOf returns the places of the lines of a session's transcripts, by their IDs.
func placesOf(rows *page.Collection, mem *memory) (map[string]snapshot.TranscriptRange, error) {
	places := make(map[string]snapshot.TranscriptRange)
	own := func(name string) bool { return slices.Contains(mem.Transcripts, name) }
	err := eachLine(rows, dialect.For(mem.Agent), own, nil, func(name string, line dialect.Line) {
		if line.Link != nil {
			places[line.Link.ID] = snapshot.TranscriptRange{Transcript: name, Offset: line.Offset}
		}
	})
	return places, err
}

// frameBehind returns the oldest frame of a session, down from the newest entry, that had read the line at the place; the newest frame if the place is unknown.
func frameBehind(s *timeline.Store, newest *snapshot.Entry, at snapshot.TranscriptRange) (found *snapshot.Entry, err error) {
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
		read, known := mem.Read[at.Transcript]
		if found != nil && (!known || read.Offset <= at.Offset) {
			return found, nil
		}
		if found = entry; at.Transcript == "" {
			break
		}
	}
	return found, nil
}

// found makes the run of a session that the agent has forked: a fork of the other session's run. The fork has the calls, the prompts and the tokens of its own
// turns alone. Lines that its own file does not have are taken over. head is the run so far, or nil: what it has is repeated behind the fork.
func (o *origin) found(ctx context.Context, s *timeline.Store, agent, session string, head *timeline.Head) (_ *timeline.Head, err error) {
	at := s.Now().UnixMilli()
	from := timeline.Address{Run: o.entry.Run, Frame: o.entry.Frame}
	row := snapshot.Run{ID: Run(agent, session), Workflow: agent, Status: snapshot.RunRunning, CreatedAtMs: at, StartedAtMs: &at}
	var old []*snapshot.Entry // newest first
	var series *timeline.Series
	if head != nil {
		row = head.Row()
		for entry, err := range s.Chain(head.Entry()) {
			if err != nil {
				return nil, timeline.Explain(err)
			}
			old = append(old, entry)
		}
	}
	row.Parent = &snapshot.Parent{RunID: from.Run, Frame: from.Frame, Commit: o.entry.ID, AtMs: row.CreatedAtMs}
	if head != nil {
		series, err = timeline.ReplaceSeries(ctx, head, row, o.entry)
	} else {
		series, err = timeline.NewSeries(ctx, s, row, o.entry)
	}
	if err != nil {
		return nil, err
	}
	defer series.Close()
	series.StayOpen()
	draft, err := o.draft(session)
	if err != nil {
		return nil, err
	}
	draft.AtMs, draft.Subject = row.CreatedAtMs, fmt.Sprintf("forked from %s", from)
	if _, err := series.Append(ctx, draft); err != nil {
		return nil, err
	}
	for _, entry := range slices.Backward(old) {
		draft, err := repeated(entry)
		if err != nil {
			return nil, timeline.Explain(err)
		}
		if _, err := series.Append(ctx, draft); err != nil {
			return nil, err
		}
	}
	return series.Commit(ctx)
}

// draft returns the first frame of the fork. It has the files of the frame from which the session goes on.
func (o *origin) draft(session string) (draft snapshot.Draft, err error) {
	draft = snapshot.Draft{Frame: &snapshot.FrameDraft{Restore: snapshot.EmptyState()}, Afresh: true}
	mem := newMemory(o.mem.Agent, session)
	if !o.shared {
		mem.Sessions, mem.Transcripts, mem.Ends = append(o.mem.Sessions, session), append(o.mem.Transcripts, session), maps.Clone(o.mem.Ends)
		rows, err := o.entry.Transcript()
		if err != nil {
			return draft, timeline.Explain(err)
		}
		for row, err := range rows.Rows() {
			if err != nil {
				return draft, timeline.Explain(err)
			}
			draft.Journal = append(draft.Journal, snapshot.SetRow(snapshot.CollectionTranscript, row))
		}
	}
	draft.Ext, err = mem.draft()
	return draft, err
}

// repeated returns the draft of an entry with all that an entry has. Its texts are as they are stored.
func repeated(entry *snapshot.Entry) (snapshot.Draft, error) {
	state, err := entry.State()
	if err != nil {
		return snapshot.Draft{}, err
	}
	row, err := entry.RunRow()
	if err != nil {
		return snapshot.Draft{}, err
	}
	vcs, err := entry.VCSRevision()
	if err != nil {
		return snapshot.Draft{}, err
	}
	memory, err := entry.ExtFile(EngineName, memoryName)
	if err != nil {
		return snapshot.Draft{}, err
	}
	draft := snapshot.Draft{
		Frame: &snapshot.FrameDraft{Restore: state, IDs: entry.IDs}, VCS: vcs, Subject: entry.Subject, AtMs: entry.AtMs,
		Ext: &snapshot.ExtDraft{Engine: EngineName, Files: map[string][]byte{memoryName: memory}},
		Run: func(r *snapshot.Run) {
			r.Status, r.FinishedAtMs, r.StartedAtMs = row.Status, row.FinishedAtMs, row.StartedAtMs
		},
	}
	journal, err := entry.Journal()
	for _, part := range journal {
		for row, err := range part.Rows.Rows() {
			if err != nil {
				return draft, err
			}
			draft.Journal = append(draft.Journal, snapshot.SetRow(part.Name, row))
		}
	}
	return draft, err
}

// beginFork makes the run of the session a fork, if the agent has forked the session from another one that is recorded here. It returns the newest entry of the run. first
// are the first lines of the session's own file.
func (r *recorder) beginFork(ctx context.Context, head *timeline.Head, first []dialect.Line) (*timeline.Head, error) {
	forked := r.ev.Forked && len(first) > 0 || slices.ContainsFunc(first, func(l dialect.Line) bool { return l.ForkOf != "" })
	if !forked {
		return head, nil
	}
	o, err := findOrigin(ctx, r.store, r.agent, Run(r.agent, r.ev.Session), first)
	if err != nil || o == nil {
		return head, err
	}
	made, err := o.found(ctx, r.store, r.agent, r.ev.Session, head)
	if code := fault.CodeOf(err); err != nil && code != fault.Conflict && code != fault.RunExists {
		r.store.Warn(fmt.Errorf("the session was not recorded as a fork of %s: %w", o.entry.Run, err))
		return head, nil
	}
	return made, err
}

// firstLines returns the first lines of the session's own file, if no hook has read any. head is the newest entry of the session's run, or nil.
func (r *recorder) firstLines(head *timeline.Head) ([]dialect.Line, error) {
	if r.ev.Transcript == "" || head != nil && (head.Row().Parent != nil || head.Row().Frame >= mostRepeated) {
		return nil, nil
	}
	if head != nil {
		mem, err := memoryOf(head.Entry())
		if err != nil || mem.Read[mem.transcript()].Offset > 0 {
			return nil, err
		}
	}
	lines, _, err := readLines(r.ev.Transcript, 0, r.speaks, r.store.Settings().Session.Transcript)
	if _, unreadable := errors.AsType[*unreadableError](err); unreadable {
		return nil, nil // the drafter warns
	}
	return lines, err
}

// beginCopies tells d which lines of the session's own file can be copies of another session's.
func (r *recorder) beginCopies(ctx context.Context, head *timeline.Head, d *drafter) error {
	if head == nil || head.Row().Parent == nil || d.mem.Read[d.mem.transcript()].Offset > 0 && !d.mem.Copying {
		return nil
	}
	var err error
	d.theirs, err = r.theirs(ctx, head)
	d.mem.Copying = true
	return err
}

// theirs returns the IDs of the lines that a fork can have copies of: those of the session from which it was forked.
func (r *recorder) theirs(ctx context.Context, head *timeline.Head) (map[string]snapshot.TranscriptRange, error) {
	parent, err := r.store.Head(ctx, head.Row().Parent.RunID)
	if err != nil {
		return nil, nil //nolint:nilerr // the session is gone
	}
	mem, err := memoryOf(parent.Entry())
	if err != nil {
		return nil, nil //nolint:nilerr // another run has its name
	}
	rows, err := parent.Entry().Transcript()
	if err != nil {
		return nil, timeline.Explain(err)
	}
	return placesOf(rows, mem)
}
