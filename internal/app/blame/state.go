package blame

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// The first names of paths into a state, besides the names of collections of rows about nodes.
const (
	inputName   = "input"
	outputsName = "outputs"
	scoresName  = "scores"
	outputName  = "output" // nodes.NODE.output is the node's row in its table
)

// collections are the collections whose rows a path names by their nodes or, for loops, by the id of the loop.
var collections = []string{
	snapshot.CollectionNodes, snapshot.CollectionLoops, snapshot.CollectionApprovals, snapshot.CollectionHumanRequests, snapshot.CollectionWaits,
}

// StatePath is a path to a value in the state of a run.
type StatePath struct {
	text   string
	first  string
	name   string        // of the table, the node, the loop or the scorer; "" for the input
	output bool          // the value is in the output of the node name
	member jsontext.Path // in the row
}

// ParseStatePath returns the path that text names. ok is false if text is no such path; it may be a revision then. A path is input, or
// begins with "input.", "outputs.TABLE", "nodes.NODE.", "loops.LOOP.", "scores.SCORER", "approvals.NODE", "human-requests.NODE" or
// "waits.NODE". The names of members follow with dots, and indexes in brackets.
func ParseStatePath(text string) (p *StatePath, ok bool) {
	path, rest, err := jsontext.ParsePath(text)
	if err != nil || rest != "" || len(path) == 0 {
		return nil, false
	}
	p = &StatePath{text: text, first: path[0].Name}
	if p.first == inputName {
		p.member = path[1:]
		return p, true
	}
	if p.first != outputsName && p.first != scoresName && !slices.Contains(collections, p.first) || len(path) < 2 || path[1].Index >= 0 {
		return nil, false
	}
	p.name, p.member = path[1].Name, path[2:]
	if p.first == snapshot.CollectionNodes && len(p.member) > 0 && p.member[0].Name == outputName {
		p.output, p.member = true, p.member[1:]
	}
	return p, true
}

// String returns the text of the path.
func (p *StatePath) String() string { return p.text }

// Setting is a frame that has set a value.
type Setting struct {
	RunID     string          `json:"runId"`
	FrameNo   int64           `json:"frameNo"`
	AtMs      int64           `json:"atMs"`
	Subject   string          `json:"subject"`          // of the frame
	Key       string          `json:"key,omitempty"`    // of the row that has the value; "" for the input
	NodeID    string          `json:"nodeId,omitempty"` // of the row; "" for the input and for a loop
	Iteration int             `json:"iteration"`
	Attempt   *int            `json:"attempt"` // the node's newest attempt at the frame; null if it has none
	Value     json.RawMessage `json:"value"`   // null if the frame has removed the value
	Removed   bool            `json:"removed,omitempty"`
}

// Settings returns the frames that have set the value at a path, in a run up to the entry at, the newest first, at most limit of them; 0 means
// all. Frames that a travel has dropped do not count. A row that is written again with the same value at the path has not set it.
// Code: usage if no frame has set such a value.
func Settings(ctx context.Context, s *timeline.Store, at *timeline.LoadedEntry, p *StatePath, limit int) ([]Setting, error) {
	w := &stateWalk{path: p, limit: limit}
	if err := w.walk(ctx, s.Objects(), at.Entry); err != nil {
		return nil, timeline.Explain(err)
	}
	if len(w.found) == 0 {
		return nil, w.unknown(at)
	}
	return w.found, nil
}

// stateWalk finds the frames that have set a value.
type stateWalk struct {
	path  *StatePath
	limit int
	table string // of the node's output; "" until it is known
	found []Setting
}

// walk goes from an entry to the first one.
func (w *stateWalk) walk(ctx context.Context, objects objstore.Reader, from *snapshot.Entry) error {
	var newer *snapshot.Entry
	run, above := "", int64(0) // frames of run above are dropped
	for entry, err := range snapshot.Ancestry(objects, from) {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		if entry.Frame == snapshot.NoFrame && newer != nil || entry.Run == run && entry.Frame > above {
			continue
		}
		if run = ""; entry.Based != nil {
			run, above = entry.Run, *entry.Based
		}
		if newer != nil {
			if err := w.compare(entry, newer); err != nil || w.full() {
				return err
			}
		}
		newer = entry
	}
	if newer == nil {
		return nil
	}
	return w.compare(nil, newer)
}

// full reports whether no more frames are wanted.
func (w *stateWalk) full() bool { return w.limit > 0 && len(w.found) >= w.limit }

// compare adds what newer has set since older, which is nil before the first entry.
func (w *stateWalk) compare(older, newer *snapshot.Entry) error {
	before, after := snapshot.EmptyState(), (*snapshot.State)(nil)
	var err error
	if after, err = newer.State(); err != nil {
		return err
	}
	if older != nil {
		if before, err = older.State(); err != nil {
			return err
		}
	}
	if w.path.first == inputName {
		return w.compareInput(before, after, newer)
	}
	a, b, err := w.rows(before, after, older, newer)
	if err != nil || a == nil || b == nil || a.ID() == b.ID() {
		return err
	}
	for delta, err := range page.Diff(a, b) {
		if err != nil {
			return err
		}
		if err := w.compareRow(delta, after, newer); err != nil || w.full() {
			return err
		}
	}
	return nil
}

// rows returns the rows that can have the value before and after a frame, or nil if no table of the node is known.
func (w *stateWalk) rows(before, after *snapshot.State, older, newer *snapshot.Entry) (a, b *page.Collection, err error) {
	p := w.path
	switch {
	case p.first == outputsName:
		return before.Outputs(p.name), after.Outputs(p.name), nil
	case p.output:
		if w.table == "" {
			if w.table, err = outputTable(after, p.name); err != nil || w.table == "" {
				return nil, nil, err
			}
		}
		return before.Outputs(w.table), after.Outputs(w.table), nil
	case p.first == scoresName:
		if b, err = newer.Scores(); err != nil {
			return nil, nil, err
		}
		if older == nil {
			return snapshot.EmptyState().Nodes(), b, nil // any collection without rows
		}
		a, err = older.Scores()
		return a, b, err
	}
	return collection(before, p.first), collection(after, p.first), nil
}

// collection returns a collection of a state.
func collection(state *snapshot.State, name string) *page.Collection {
	for known, rows := range state.Collections() {
		if known == name {
			return rows
		}
	}
	return nil
}

// outputTable returns the table of a node's output, or "" if it is unknown.
func outputTable(state *snapshot.State, name string) (string, error) {
	for node, err := range state.AllNodes() {
		if err != nil {
			return "", err
		}
		if (node.NodeID == name || snapshot.Key(node.NodeID, node.Iteration) == name) && node.OutputTable != "" {
			return node.OutputTable, nil
		}
	}
	return "", nil
}

// compareInput adds the frame if it has set the value in the input.
func (w *stateWalk) compareInput(before, after *snapshot.State, newer *snapshot.Entry) error {
	if before.InputID() == after.InputID() {
		return nil
	}
	from, err := before.Input()
	if err != nil {
		return err
	}
	to, err := after.Input()
	if err == nil {
		w.add(newer, Setting{}, from, to)
	}
	return err
}

// compareRow adds the frame if it has set the value in a row.
func (w *stateWalk) compareRow(delta page.Delta, after *snapshot.State, newer *snapshot.Entry) error {
	p, set := w.path, Setting{Key: delta.Key}
	from, to := delta.From, delta.To
	row := page.Row{Key: delta.Key, Value: to}
	if to == nil {
		row.Value = from
	}
	called, err := p.namesOf(row)
	if err != nil || !slices.Contains(called, p.name) {
		return err
	}
	switch p.first {
	case scoresName:
		score, err := snapshot.DecodeScore(row)
		if err != nil {
			return err
		}
		set.NodeID, set.Iteration, set.Attempt = score.NodeID, score.Iteration, &score.Attempt
		if len(p.member) == 0 {
			from, to = scoreOf(from), scoreOf(to)
		}
	case snapshot.CollectionLoops:
	default:
		if set.NodeID, set.Iteration, err = snapshot.SplitKey(delta.Key); err != nil {
			return err
		}
		if value, ok, err := after.Nodes().Get(delta.Key); err != nil {
			return err
		} else if ok {
			node, err := snapshot.DecodeNode(page.Row{Key: delta.Key, Value: value})
			if err != nil {
				return err
			}
			set.Attempt = node.LastAttempt
		}
	}
	w.add(newer, set, from, to)
	return nil
}

// scoreOf returns the number in the row of a score, or nil if there is no row.
func scoreOf(row []byte) []byte {
	if row == nil {
		return nil
	}
	value, _ := jsontext.Path{{Name: "score", Index: -1}}.Value(row)
	return value
}

// add adds the frame if the value at the path differs between two rows. A row that is not there is nil.
func (w *stateWalk) add(newer *snapshot.Entry, set Setting, from, to []byte) {
	member := w.path.member
	was, had := valueAt(member, from)
	is, has := valueAt(member, to)
	if !had && !has || had && has && bytes.Equal(was, is) {
		return
	}
	set.RunID, set.FrameNo, set.AtMs, set.Subject = newer.Run, newer.Newest, newer.AtMs, newer.Subject
	set.Value, set.Removed = is, !has
	w.found = append(w.found, set)
}

// valueAt returns the value at a path in a row, or in no row.
func valueAt(path jsontext.Path, row []byte) (value []byte, ok bool) {
	if row == nil {
		return nil, false
	}
	return path.Value(row)
}

// unknown returns the error of a path that no frame has set, with what the entry at has in place of the first name that it lacks.
func (w *stateWalk) unknown(at *timeline.LoadedEntry) error {
	p := w.path
	out := fault.New(fault.Usage, "no frame of %s has set %s", at.Address, p.text)
	value, names, err := w.row(at.Entry)
	if err != nil {
		return timeline.Explain(err)
	}
	where, lacking := p.first+" of the run", p.name
	if value != nil {
		names = nil
		if _, lacks := p.member.Edit(value, nil); lacks != nil {
			step := p.member[lacks.Depth]
			where, lacking, names = "members of "+strings.TrimSuffix(p.text[:step.End], "."+step.Name), step.Name, lacks.Names
		}
	}
	if len(names) == 0 {
		return out.Hint("`git smithers show %s` shows the state", fault.Word(at.Address.String()))
	}
	if near, ok := plain.Nearest(lacking, names); ok && near != lacking {
		out = out.Hint("did you mean %s?", near)
	}
	const shown = 10
	more := ""
	if len(names) > shown {
		names, more = names[:shown], ", …"
	}
	return out.Hint("%s: %s%s", where, strings.Join(names, ", "), more)
}

// row returns a row of an entry that the path names, or nil, and the names of all that could stand in its place.
func (w *stateWalk) row(entry *snapshot.Entry) (value []byte, names []string, err error) {
	state, err := entry.State()
	if err != nil {
		return nil, nil, err
	}
	if w.path.first == inputName {
		value, err = state.Input()
		return value, nil, err
	}
	_, rows, err := w.rows(snapshot.EmptyState(), state, nil, entry)
	if err != nil {
		return nil, nil, err
	}
	for row, err := range cmp.Or(rows, state.Nodes()).Rows() {
		if err != nil {
			return nil, nil, err
		}
		called, err := w.path.namesOf(row)
		if err != nil {
			return nil, nil, err
		}
		if names = append(names, called[0]); rows != nil && slices.Contains(called, w.path.name) {
			value = row.Value
		}
	}
	if w.path.first == outputsName {
		names = state.Tables()
	}
	slices.Sort(names)
	return value, slices.Compact(names), nil
}

// namesOf returns the names by which a path can mean a row.
func (p *StatePath) namesOf(row page.Row) ([]string, error) {
	switch p.first {
	case outputsName:
		return []string{p.name}, nil
	case scoresName:
		score, err := snapshot.DecodeScore(row)
		return []string{cmp.Or(score.ScorerName, score.ScorerID), score.ScorerID}, err
	case snapshot.CollectionLoops:
		return []string{row.Key}, nil
	}
	node, _, err := snapshot.SplitKey(row.Key)
	return []string{node, row.Key}, err
}
