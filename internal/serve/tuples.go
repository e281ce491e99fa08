package serve

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"unsafe"

	"github.com/git-smithers/git-smithers/internal/peer/langgraph"
	"github.com/git-smithers/git-smithers/objstore"
)

// The limits of one answer to list: the client asks for the next tuples with a cursor.
const (
	pageTuples = 100
	pageBytes  = 16 << 20
)

// tuple is a checkpoint in an answer.
type tuple struct {
	Thread     string          `json:"thread"`
	NS         string          `json:"ns"`
	ID         string          `json:"id"`
	Parent     *string         `json:"parent,omitempty"`
	Checkpoint json.RawMessage `json:"checkpoint"`
	Metadata   json.RawMessage `json:"metadata"`
	Frame      int64           `json:"frame"`
	Commit     objstore.ID     `json:"commit"`
	Values     []value         `json:"values"`
	Writes     []written       `json:"writes"`
	Sends      []written       `json:"sends,omitempty"`
}

// value is the value of a channel in an answer.
type value struct {
	Channel string `json:"channel"`
	Type    string `json:"type"`
	Blob    int    `json:"blob"`
}

// written is a write in an answer.
type written struct {
	Task    string  `json:"task"`
	Idx     int     `json:"idx"`
	Channel string  `json:"channel"`
	Path    *string `json:"path,omitempty"`
	Type    string  `json:"type"`
	Blob    int     `json:"blob"`
}

// blobs collects the blobs of an answer. Values that share their bytes are one blob.
type blobs struct {
	all   [][]byte
	known map[*byte]int // by the first byte of a value that is not empty
	size  int
}

// add returns the number of the blob with the bytes.
func (b *blobs) add(data []byte) int {
	at := unsafe.SliceData(data)
	if i, found := b.known[at]; found && len(data) > 0 && len(b.all[i]) == len(data) {
		return i
	}
	if b.known == nil {
		b.known = make(map[*byte]int)
	}
	b.known[at] = len(b.all)
	b.all = append(b.all, data)
	b.size += len(data)
	return len(b.all) - 1
}

// tuple returns a tuple as an answer has it.
func (b *blobs) tuple(t *langgraph.Tuple) *tuple {
	out := &tuple{
		Thread: t.Thread, NS: t.NS, ID: t.ID, Parent: t.Parent, Checkpoint: t.Checkpoint, Metadata: t.Metadata,
		Frame: t.Frame, Commit: t.Commit, Values: []value{}, Writes: b.writes(t.Writes),
	}
	for _, channel := range slices.Sorted(maps.Keys(t.Values)) {
		v := t.Values[channel]
		out.Values = append(out.Values, value{channel, v.Type, b.add(v.Data)})
	}
	if len(t.Sends) > 0 {
		out.Sends = b.writes(t.Sends)
	}
	return out
}

// writes returns writes as an answer has them.
func (b *blobs) writes(writes []langgraph.Write) []written {
	out := []written{}
	for _, w := range writes {
		out = append(out, written{w.Task, w.Idx, w.Channel, w.Path, w.Value.Type, b.add(w.Value.Data)})
	}
	return out
}

// getTuple reads a checkpoint.
type getTuple struct {
	Thread string `json:"thread"`
	NS     string `json:"ns"`
	ID     string `json:"id"` // "" is the latest
}

func (g *getTuple) threads() []string { return []string{g.Thread} }

func (g *getTuple) run(ctx context.Context, s *Server) (outcome, error) {
	t, err := s.threads.Get(ctx, g.Thread, langgraph.Key{NS: g.NS, ID: g.ID})
	if err != nil || t == nil {
		return outcome{result: map[string]any{"tuple": nil}}, err
	}
	var b blobs
	out := b.tuple(t)
	return outcome{map[string]any{"tuple": out}, b.all}, nil
}

// list reads a page of checkpoints, that with the greatest id first.
type list struct {
	Thread *string                    `json:"thread"`
	NS     *string                    `json:"ns"`
	ID     *string                    `json:"id"`
	Before *string                    `json:"before"`
	Filter map[string]json.RawMessage `json:"filter"`
	Limit  *int                       `json:"limit"`
	After  *langgraph.Cursor          `json:"after"`
}

func (l *list) threads() []string {
	if l.Thread == nil {
		return nil
	}
	return []string{*l.Thread}
}

func (l *list) run(ctx context.Context, s *Server) (outcome, error) {
	q := langgraph.Query{Thread: l.Thread, NS: l.NS, ID: l.ID, Before: l.Before, Filter: l.Filter, After: l.After}
	most := pageTuples
	if l.Limit != nil {
		most = min(most, *l.Limit)
	}
	tuples := []*tuple{}
	var b blobs
	if most <= 0 {
		return outcome{result: map[string]any{"tuples": tuples}}, nil
	}
	var next *langgraph.Cursor
	q.Limit = most + 1
	for t, err := range s.threads.List(ctx, q) {
		if err != nil {
			return outcome{}, err
		}
		if len(tuples) == most || len(tuples) > 0 && b.size > pageBytes {
			last := tuples[len(tuples)-1]
			next = &langgraph.Cursor{Thread: last.Thread, Key: langgraph.Key{NS: last.NS, ID: last.ID}}
			break
		}
		tuples = append(tuples, b.tuple(t))
	}
	return outcome{map[string]any{"tuples": tuples, "next": next}, b.all}, nil
}

// deltaHistory reads what makes the values of DeltaChannels.
type deltaHistory struct {
	Thread   string   `json:"thread"`
	NS       string   `json:"ns"`
	ID       string   `json:"id"`
	Channels []string `json:"channels"`
}

func (d *deltaHistory) threads() []string { return []string{d.Thread} }

func (d *deltaHistory) run(ctx context.Context, s *Server) (outcome, error) {
	found, err := s.threads.DeltaHistory(ctx, d.Thread, langgraph.Key{NS: d.NS, ID: d.ID}, d.Channels)
	if err != nil {
		return outcome{}, err
	}
	type history struct {
		Channel string    `json:"channel"`
		Seed    *value    `json:"seed,omitempty"`
		Writes  []written `json:"writes"`
	}
	out := []history{}
	var b blobs
	for _, channel := range d.Channels {
		h := history{Channel: channel, Writes: b.writes(found[channel].Writes)}
		if seed := found[channel].Seed; seed != nil {
			h.Seed = &value{channel, seed.Type, b.add(seed.Data)}
		}
		out = append(out, h)
	}
	return outcome{map[string]any{"channels": out}, b.all}, nil
}
