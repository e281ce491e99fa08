package langgraph

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// The files in ext/langgraph/. An entry carries them from the entry before, so a file counts only in an entry in which it
// differs from that of the entry before.
const (
	checkpointFile = "checkpoint"
	writesFile     = "writes"
)

// Key names a checkpoint of a thread.
type Key struct {
	NS string `json:"ns"` // the checkpoint namespace; "" is the graph itself
	ID string `json:"id"`
}

// record is a checkpoint without its values, as the file "checkpoint" has it.
type record struct {
	N          int64             `json:"n"` // the number of the put in the run, so that no two puts have the same file
	NS         string            `json:"ns"`
	ID         string            `json:"id"`
	Parent     *string           `json:"parent,omitempty"` // the id of the parent in the same namespace
	Checkpoint json.RawMessage   `json:"checkpoint"`
	Metadata   json.RawMessage   `json:"metadata"`
	Types      map[string]string `json:"types,omitempty"` // by the name of a channel: the type of a value in base64
	Names      map[string]string `json:"names,omitempty"` // by the name in a row's key: a channel that a key cannot have

	commit objstore.ID // the frame's entry
	frame  int64       // the number of the frame in the thread's run; NoFrame for a frame of a run before a fork
	meta   metadata    // the members of Metadata that count here
}

// metadata are the members of a checkpoint's metadata that this package reads.
type metadata struct {
	Source  string            `json:"source"`
	Step    *int              `json:"step"`
	Parents map[string]string `json:"parents"` // by namespace: the checkpoint of an outer graph
	RunID   string            `json:"run_id"`

	// Delta has the DeltaChannels, whose values are made from the writes of ancestors.
	Delta map[string]json.RawMessage `json:"counters_since_delta_snapshot"`
}

// key returns the key of the checkpoint.
func (r *record) key() Key { return Key{r.NS, r.ID} }

// encode returns the content of the file. Each member of the record, of the checkpoint and of the metadata has a line,
// so that people can read a diff.
func (r *record) encode() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\n\"n\": %d,\n\"ns\": %s,\n\"id\": %s,\n", r.N, quoted(r.NS), quoted(r.ID))
	if r.Parent != nil {
		fmt.Fprintf(&b, "\"parent\": %s,\n", quoted(*r.Parent))
	}
	b.WriteString("\"checkpoint\": ")
	writeMembers(&b, r.Checkpoint)
	b.WriteString(",\n\"metadata\": ")
	writeMembers(&b, r.Metadata)
	for _, m := range []struct {
		name  string
		texts map[string]string
	}{{"types", r.Types}, {"names", r.Names}} {
		if len(m.texts) > 0 {
			text, _ := json.Marshal(m.texts) //nolint:errchkjson // a map of texts encodes always
			fmt.Fprintf(&b, ",\n%q: %s", m.name, text)
		}
	}
	b.WriteString("\n}\n")
	return b.Bytes()
}

// writeMembers writes a JSON object with a member on each line. Values keep their bytes.
func writeMembers(b *bytes.Buffer, object json.RawMessage) {
	var members jsontext.Members
	if err := json.Unmarshal(object, &members); err != nil || len(members) == 0 {
		b.Write(object)
		return
	}
	for i, m := range members {
		b.WriteString([]string{",\n", "{\n"}[bit(i == 0)])
		fmt.Fprintf(b, "  %s: %s", quoted(m.Name), m.Value)
	}
	b.WriteString("\n}")
}

// bit returns 1 for true.
func bit(is bool) int {
	if is {
		return 1
	}
	return 0
}

// quoted returns text as a JSON string.
func quoted(text string) []byte {
	out, _ := jsontext.Encode(text) // a text encodes always
	return out
}

// decodeRecord decodes the file "checkpoint" of an entry.
func decodeRecord(entry *snapshot.Entry, data []byte) (*record, error) {
	r := &record{commit: entry.ID, frame: entry.Frame}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, corrupt(entry, checkpointFile, err)
	}
	if !isObject(r.Checkpoint) || !isObject(r.Metadata) {
		return nil, corrupt(entry, checkpointFile, errors.New("no checkpoint or no metadata"))
	}
	_ = json.Unmarshal(r.Metadata, &r.meta) // what has another form does not count
	return r, nil
}

// corrupt returns the error about a file of an entry that this package did not write.
func corrupt(entry *snapshot.Entry, file string, err error) error {
	return &objstore.CorruptError{ID: entry.ID, Reason: fmt.Sprintf("ext/%s/%s: %v", EngineName, file, err)}
}

// versions returns the versions of the checkpoint's channels, as the client wrote them.
func (r *record) versions() map[string]json.RawMessage {
	var c struct {
		Versions map[string]json.RawMessage `json:"channel_versions"`
	}
	_ = json.Unmarshal(r.Checkpoint, &c) // a checkpoint without versions has no channels
	return c.Versions
}

// Write is a pending write of a checkpoint.
type Write struct {
	Task    string
	Idx     int // the position in the call; a negative one is that of a special channel
	Channel string
	Path    *string // the task's path, which newer clients send
	Value   Value
}

// storedWrite is a write in the file "writes".
type storedWrite struct {
	Task    string          `json:"task"`
	Idx     int             `json:"idx"`
	Channel string          `json:"channel"`
	Type    *string         `json:"type,omitempty"` // the type of a value in base64
	Path    *string         `json:"path,omitempty"`
	Value   json.RawMessage `json:"value"`
}

// pending are all writes of one checkpoint.
type pending struct {
	Key

	Writes []Write // sorted by compare
}

// compare orders writes by the path of their task, its id, and the position: the order of LangGraph's checkpoint 1.2. Texts are
// compared by code point, and a write without a path has the path "".
func (w Write) compare(o Write) int {
	return cmp.Or(strings.Compare(w.path(), o.path()), strings.Compare(w.Task, o.Task), cmp.Compare(w.Idx, o.Idx))
}

// path returns the path of the write's task, or "" if the client sent none.
func (w Write) path() string {
	if w.Path == nil {
		return ""
	}
	return *w.Path
}

// add adds writes to those of the checkpoint, and reports whether that changes anything. Of several writes of a task at the same
// position, the first counts, or the last if the position is negative.
func (p *pending) add(writes []Write) (changed bool) {
	p.Writes = slices.Clone(p.Writes)
	for _, w := range writes {
		had := slices.IndexFunc(p.Writes, func(o Write) bool { return o.Task == w.Task && o.Idx == w.Idx })
		if had >= 0 && (w.Idx >= 0 || w.same(p.Writes[had])) {
			continue
		}
		if had >= 0 {
			p.Writes = slices.Delete(p.Writes, had, had+1)
		}
		i, _ := slices.BinarySearchFunc(p.Writes, w, Write.compare)
		p.Writes = slices.Insert(p.Writes, i, w)
		changed = true
	}
	return changed
}

// same reports whether two writes at the same place have the same value.
func (w Write) same(o Write) bool {
	return w.Channel == o.Channel && w.Value.Type == o.Value.Type && bytes.Equal(w.Value.Data, o.Value.Data)
}

// encodeWrites returns the content of the file "writes", with a line for each write: an object for one checkpoint, so that its
// key is found without the writes, and a list of objects for several.
func encodeWrites(all []pending) []byte {
	var b bytes.Buffer
	if len(all) == 1 {
		all[0].encode(&b)
		b.WriteString("\n")
		return b.Bytes()
	}
	b.WriteString("[")
	for i, p := range all {
		b.WriteString([]string{",\n", "\n"}[bit(i == 0)])
		p.encode(&b)
	}
	b.WriteString("\n]\n")
	return b.Bytes()
}

// encode writes the writes of a checkpoint as an object.
func (p pending) encode(b *bytes.Buffer) {
	fmt.Fprintf(b, "{\"ns\": %s, \"id\": %s, \"writes\": [", quoted(p.NS), quoted(p.ID))
	for i, w := range p.Writes {
		b.WriteString([]string{",\n  ", "\n  "}[bit(i == 0)])
		w.encode(b)
	}
	b.WriteString("\n]}")
}

// encode writes the write as an object in one line. The value is written as it is, without a copy.
func (w Write) encode(b *bytes.Buffer) {
	text, coded := w.Value.stored()
	fmt.Fprintf(b, "{\"task\": %s, \"idx\": %d, \"channel\": %s, ", quoted(w.Task), w.Idx, quoted(w.Channel))
	if coded {
		fmt.Fprintf(b, "\"type\": %s, ", quoted(w.Value.Type))
	}
	if w.Path != nil {
		fmt.Fprintf(b, "\"path\": %s, ", quoted(*w.Path))
	}
	b.WriteString("\"value\": ")
	b.Write(text)
	b.WriteString("}")
}

// storedPending are the writes of a checkpoint in the file "writes".
type storedPending struct {
	Key

	Writes []storedWrite `json:"writes"`
}

// decodeWrites decodes the file "writes" of an entry.
func decodeWrites(entry *snapshot.Entry, data []byte) ([]pending, error) {
	all := make([]storedPending, 1)
	into := any(&all)
	if bytes.HasPrefix(data, []byte("{")) {
		into = &all[0]
	}
	if err := json.Unmarshal(data, into); err != nil {
		return nil, corrupt(entry, writesFile, err)
	}
	out := make([]pending, len(all))
	for i, p := range all {
		out[i].Key = p.Key
		for _, w := range p.Writes {
			write := Write{Task: w.Task, Idx: w.Idx, Channel: w.Channel, Path: w.Path}
			kind := ""
			if w.Type != nil {
				kind = *w.Type
			}
			var err error
			if write.Value, err = valueOf(w.Value, kind, w.Type != nil); err != nil {
				return nil, corrupt(entry, writesFile, err)
			}
			out[i].Writes = append(out[i].Writes, write)
		}
		slices.SortStableFunc(out[i].Writes, Write.compare)
	}
	return out, nil
}

// writtenKeys returns the checkpoints whose writes the file "writes" of an entry has. If that is one checkpoint, its writes are
// not read.
func writtenKeys(entry *snapshot.Entry) ([]Key, error) {
	start, err := entry.ExtFileStart(EngineName, writesFile)
	if err != nil {
		return nil, err
	}
	if key, found := keyIn(start); found {
		return []Key{key}, nil
	}
	data, err := entry.ExtFile(EngineName, writesFile)
	if err != nil {
		return nil, err
	}
	all, err := decodeWrites(entry, data)
	if err != nil {
		return nil, err
	}
	keys := make([]Key, len(all))
	for i, p := range all {
		keys[i] = p.Key
	}
	return keys, nil
}

// keyIn returns the key of the only checkpoint in a file "writes". If the file has several, or start ends in the middle of the
// key, found is false.
func keyIn(start []byte) (key Key, found bool) {
	head, _, found := bytes.Cut(start, []byte(`, "writes": [`+"\n")) // no string of JSON has a line's end
	if !found || json.Unmarshal(append(slices.Clip(head), '}'), &key) != nil {
		return Key{}, false
	}
	return key, true
}
