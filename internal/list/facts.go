package list

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
)

// Wanted says which facts about the runs of a list are read. Each costs a query for the whole list, and none reads the
// history of a run.
type Wanted struct {
	Waiting bool // what the runs wait for
	Times   bool // how long they have worked and waited
	Code    bool // how many lines they have changed
	Scores  bool // what scorers gave their tasks
	Columns []Column
	NowMs   int64 // the time now, in milliseconds since 1970
}

// needsDetails reports whether the facts need the details of the index.
func (w Wanted) needsDetails() bool { return w.Waiting || w.Times || w.Scores || len(w.Columns) > 0 }

// A Column is a value of the input or of the outputs of a run.
type Column struct {
	Name string   // as it was typed: input or outputs, and the path below it
	Path []string // the path below input or outputs; for outputs it begins with the table
}

// ParseColumn returns the column with a name such as input.issue or outputs.verdict.score. It returns false for any other name.
func ParseColumn(name string) (Column, bool) {
	parts := strings.Split(name, ".")
	known := parts[0] == inputColumn || parts[0] == outputsColumn && len(parts) > 1
	return Column{name, parts[1:]}, known && !slices.Contains(parts, "")
}

// The first words of columns.
const (
	inputColumn   = "input"
	outputsColumn = "outputs"
)

// isInput reports whether the column is of the input.
func (c Column) isInput() bool { return strings.HasPrefix(c.Name, inputColumn) }

// maxColumnValue is the size of the largest input or output that a list reads, in characters. A value above it is left out.
const maxColumnValue = 64 << 10

// Facts are what a list tells about a run beyond its RunInfo. What was not wanted is nil.
type Facts struct {
	Waiting []WaitInfo // not nil if it was wanted
	// TookMs is the time in which at least one of the run's own attempts worked, and WaitedMs the time in which the run only waited
	// for a person, a signal or a timer. The attempts that a fork has from its parent do not count. Without an attempt, TookMs is the
	// time from the first to the newest frame.
	TookMs, WaitedMs *int64
	// Lines is how many lines differ between the first frame of the run, or of the run that it descends from, and its newest frame, in the
	// files that tasks share. It is nil also if they are unknown, not counted yet, or too many.
	Lines *sqliteindex.Lines
	// Scores are the means of each scorer, sorted by their names; not nil if they were wanted.
	Scores []ScoreMean
	// Values has a value for each wanted column by its name; it lacks what the run does not have, and what is above 64 KiB.
	Values map[string]json.RawMessage
}

// ScoreMean is the mean of what a scorer gave the tasks of a run. Each task counts once, by its newest attempt that was scored.
type ScoreMean struct {
	Scorer string  `json:"scorer"`
	Count  int64   `json:"count"` // of the tasks
	Mean   float64 `json:"mean"`
}

// WaitInfo is an open request, signal or timer that a run waits for.
type WaitInfo struct {
	NodeID    string  `json:"nodeId"`
	Iteration int     `json:"iteration"`
	For       string  `json:"for"`  // approval, human, signal or timer
	What      string  `json:"what"` // a title, a prompt or a signal's name; "" for a timer
	SinceMs   int64   `json:"sinceMs"`
	DueAtMs   *int64  `json:"dueAtMs"`
	RequestID *string `json:"requestId"`
}

// ReadFacts returns the wanted facts about each run, in the order of runs, which must be results of Runs. It counts lines that the index
// does not have until counting ends.
func ReadFacts(ctx, counting context.Context, s *timeline.Store, runs []RunInfo, want Wanted) ([]Facts, error) {
	r := factsReader{want: want, runs: runs, out: make([]Facts, len(runs)), at: make(map[string]int, len(runs))}
	for i, run := range runs {
		r.ids, r.at[run.RunID] = append(r.ids, run.RunID), i
	}
	if len(runs) == 0 {
		return r.out, nil
	}
	var err error
	if want.needsDetails() {
		r.index, err = s.Details(ctx)
	} else {
		r.index, err = s.Index(ctx)
	}
	if err != nil {
		return nil, err
	}
	for _, part := range []struct {
		wanted bool
		read   func(context.Context, *timeline.Store) error
	}{
		{want.Waiting, r.readWaiting},
		{want.Times, r.readTimes},
		{want.Code, func(ctx context.Context, s *timeline.Store) error { return r.readCode(ctx, counting, s) }},
		{want.Scores, r.readScores},
		{len(want.Columns) > 0, r.readColumns},
	} {
		if !part.wanted {
			continue
		}
		if err := part.read(ctx, s); err != nil {
			return nil, timeline.Explain(err)
		}
	}
	return r.out, nil
}

// factsReader reads facts about runs.
type factsReader struct {
	want  Wanted
	index *sqliteindex.Index
	runs  []RunInfo
	ids   []string
	at    map[string]int // the index of each run in runs and out
	out   []Facts
}

// readWaiting sets Waiting.
func (r *factsReader) readWaiting(ctx context.Context, _ *timeline.Store) error {
	for i := range r.out {
		r.out[i].Waiting = []WaitInfo{}
	}
	rows, err := r.index.Inbox(ctx, sqliteindex.InboxQuery{})
	for _, row := range rows {
		i, ok := r.at[row.RunID]
		if !ok {
			continue
		}
		wait := WaitInfo{
			NodeID: row.NodeID, Iteration: row.Iteration, For: row.Kind, What: row.Prompt, SinceMs: row.RequestedAtMs, DueAtMs: row.TimeoutAtMs,
		}
		if row.RequestID != "" {
			wait.For, wait.RequestID = "human", &row.RequestID
		}
		r.out[i].Waiting = append(r.out[i].Waiting, wait)
	}
	return err
}

// readScores sets Scores.
func (r *factsReader) readScores(ctx context.Context, _ *timeline.Store) error {
	for i := range r.out {
		r.out[i].Scores = []ScoreMean{}
	}
	rows, err := r.index.ScoreMeans(ctx, r.ids)
	for _, row := range rows {
		i := r.at[row.RunID]
		r.out[i].Scores = append(r.out[i].Scores, ScoreMean{row.Scorer, row.Count, row.Mean})
	}
	return err
}

// readTimes sets TookMs and WaitedMs.
func (r *factsReader) readTimes(ctx context.Context, s *timeline.Store) error {
	rows, err := r.index.Spans(ctx, r.ids)
	if err != nil {
		return err
	}
	work, all := make([]spans, len(r.runs)), make([]spans, len(r.runs))
	for _, row := range rows {
		i := r.at[row.RunID]
		one, own := r.spanOf(s, r.runs[i], row)
		if !own {
			continue
		}
		all[i] = append(all[i], one)
		if !row.Wait {
			work[i] = append(work[i], one)
		}
	}
	var alone map[string]int64 // by run: the time from its first to its newest frame
	for i, run := range r.runs {
		took := work[i].length()
		waited := all[i].length() - took
		if len(all[i]) == 0 {
			if alone == nil {
				if alone, err = r.framesTook(ctx); err != nil {
					return err
				}
			}
			took = alone[run.RunID]
		}
		r.out[i].TookMs, r.out[i].WaitedMs = &took, &waited
	}
	return nil
}

// spanOf returns the time of an attempt of run. own is false if the attempt had ended when the run was forked.
func (r *factsReader) spanOf(s *timeline.Store, run RunInfo, row sqliteindex.SpanRow) (one span, own bool) {
	one.from = row.StartedAtMs
	ended := snapshot.RunStatus(run.Status).Ended()
	switch {
	case row.FinishedAtMs != nil:
		one.to = *row.FinishedAtMs
	case ended || !row.Wait && Stale(s, run):
		one.to = min(run.UpdatedAtMs, r.want.NowMs) // nobody has worked since; a wait needs no process
	default:
		one.to = r.want.NowMs
	}
	if run.forked != nil {
		if row.FinishedAtMs != nil && *row.FinishedAtMs <= *run.forked {
			return one, false
		}
		one.from = max(one.from, *run.forked)
	}
	one.to = max(one.to, one.from)
	return one, true
}

// framesTook returns the time from the first to the newest frame of each run.
func (r *factsReader) framesTook(ctx context.Context) (map[string]int64, error) {
	rows, err := r.index.Ends(ctx)
	took := make(map[string]int64)
	for _, row := range rows {
		if row.First {
			took[row.RunID] -= row.CreatedAtMs
		} else {
			took[row.RunID] += row.CreatedAtMs
		}
	}
	return took, err
}

// readCode sets Lines.
func (r *factsReader) readCode(ctx, counting context.Context, s *timeline.Store) error {
	rows, err := r.index.Ends(ctx)
	if err != nil {
		return err
	}
	all, err := r.index.Runs(ctx)
	if err != nil {
		return err
	}
	parents := make(map[string]string)
	for _, row := range all {
		if row.ParentRunID != nil {
			parents[row.RunID] = *row.ParentRunID
		}
	}
	first, newest := make(map[string]sqliteindex.EndRow), make(map[string]sqliteindex.EndRow)
	for _, row := range rows {
		if row.First {
			first[row.RunID] = row
		} else {
			newest[row.RunID] = row
		}
	}
	pairs := make([]sqliteindex.TreePair, len(r.runs))
	for i, run := range r.runs {
		root := run.RunID
		for range len(parents) { // a forged history can descend from itself
			parent, ok := parents[root]
			if !ok {
				break
			}
			root = parent
		}
		from, to := first[root].Tree, newest[run.RunID].Tree
		if from.IsZero() || to.IsZero() {
			continue
		}
		if from == to {
			r.out[i].Lines = &sqliteindex.Lines{}
			continue
		}
		pairs[i] = sqliteindex.TreePair{From: from, To: to}
	}
	return r.countPairs(ctx, counting, s, pairs)
}

// countPairs sets Lines of the runs with a pair of trees. The counts that the index lacks are made, and stored in it.
func (r *factsReader) countPairs(ctx, counting context.Context, s *timeline.Store, pairs []sqliteindex.TreePair) error {
	known, err := r.index.Lines(ctx, pairs)
	if err != nil {
		return err
	}
	var missing []sqliteindex.TreePair
	asked := make(map[sqliteindex.TreePair]bool)
	for _, pair := range pairs {
		if _, ok := known[pair]; !ok && pair != (sqliteindex.TreePair{}) && !asked[pair] {
			missing, asked[pair] = append(missing, pair), true
		}
	}
	if len(missing) > 0 {
		counted, err := countLines(counting, s, missing)
		if err != nil && counting.Err() == nil {
			s.Warn(err) // the other runs have their lines
		}
		_ = r.index.RememberLines(context.WithoutCancel(ctx), counted) // else the next call counts them again
		maps.Copy(known, counted)
	}
	for i, pair := range pairs {
		if lines, ok := known[pair]; ok && pair != (sqliteindex.TreePair{}) {
			r.out[i].Lines = &lines
		}
	}
	return ctx.Err()
}

// readColumns sets Values.
func (r *factsReader) readColumns(ctx context.Context, _ *timeline.Store) error {
	for i := range r.out {
		r.out[i].Values = make(map[string]json.RawMessage)
	}
	keys, err := r.index.OutputKeys(ctx)
	if err != nil {
		return err
	}
	read := make(map[string][]sqliteindex.ValueRow) // by table; "" for the input
	for _, c := range r.want.Columns {
		table, path := "", c.Path
		if !c.isInput() {
			table, path = tableOf(keys, c.Path)
		}
		rows, ok := read[table]
		if !ok {
			if c.isInput() {
				rows, err = r.index.Inputs(ctx, r.ids, maxColumnValue)
			} else {
				rows, err = r.index.NewestOutputs(ctx, table, r.ids, maxColumnValue)
			}
			if err != nil {
				return err
			}
			read[table] = rows
		}
		for _, row := range rows {
			if i, ok := r.at[row.RunID]; ok {
				if value := memberAt(row.Value, path); value != nil {
					r.out[i].Values[c.Name] = value
				}
			}
		}
	}
	return nil
}

// tableOf splits the path of a column of the outputs into the table and the path below it. A table's key can have dots: the longest
// beginning of the path that is a key is the table.
func tableOf(keys, path []string) (table string, rest []string) {
	for end := len(path); end > 0; end-- {
		if key := strings.Join(path[:end], "."); slices.Contains(keys, key) {
			return key, path[end:]
		}
	}
	return path[0], path[1:]
}

// memberAt returns the value at a path of members, or nil if there is none.
func memberAt(value json.RawMessage, path []string) json.RawMessage {
	for _, name := range path {
		var members map[string]json.RawMessage
		if bytes.HasPrefix(bytes.TrimSpace(value), []byte("{")) && json.Unmarshal(value, &members) != nil {
			return nil
		}
		if value = members[name]; value == nil {
			return nil
		}
	}
	return value
}

// A span is a stretch of time in milliseconds since 1970.
type span struct{ from, to int64 }

// spans is a set of spans, which may overlap.
type spans []span

// length returns the length of the time that at least one of the spans covers.
func (s spans) length() (sum int64) {
	slices.SortFunc(s, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	end := int64(0)
	for i, one := range s {
		from := one.from
		if i > 0 {
			from = max(from, end)
		}
		if one.to > from {
			sum += one.to - from
		}
		end = max(end, one.to)
	}
	return sum
}
