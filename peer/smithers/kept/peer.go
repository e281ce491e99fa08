// Package kept reads what the repository stores about a run of Smithers: ext/smithers of its entries, its frames by
// Smithers' numbers, and the answers given here.
package kept

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/peer/smithers/contents"
	"github.com/git-smithers/git-smithers/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
)

// Engine is the name of Smithers' folder in ext.
const Engine = "smithers"

// The files and folders of ext/smithers.
const (
	extOutputs = "outputs" // a layout
	ExtSchema  = "schema"  // schemaLines
	extPass    = "pass"    // a pass
	extFrames  = "frames"  // a collection of frameRows
	extMarks   = "marks"   // a collection of markRows
	extTables  = "tables"  // a folder of collections of overrides
	extAnswers = "answers" // a folder of collections of answerKeys
)

// Peer is the content of a run's ext/smithers. Together with the run, it has all data that Smithers had of the run.
// The zero Peer is for a run that was never imported.
type Peer struct {
	Layout contents.Layout
	Schema []SchemaLine
	Pass   Pass
	Frames map[int64]FrameRow          // by our number
	Tables map[string][]dbrow.Override // by the table's name; no list is empty
	Marks  []Mark
	// Answers are in the run's mailbox, but not in Smithers'.
	Answers AnswerKeys
}

// Pass is the progress of a run's import. Only the last entry of an import changes it, so a run is unchanged since
// its import if its tip and the entry before have different passes.
type Pass struct {
	Number int64 `json:"pass"`   // number of imports that changed the run
	Frame  int64 `json:"frame"`  // the newest imported frame
	Events int64 `json:"events"` // number of imported events of Smithers
	// Rows is the digest, in hex, of all rows that the database had of the run.
	Rows string `json:"rows"`
	// Movable is the digest of the same rows with a mark in place of the root's path. An export is compared with it.
	// It is "" if no row has such a path, and for imports of old versions.
	Movable string `json:"movable,omitempty"`
}

// SchemaLine is a table that differs from the tables of Smithers 0.32.0: a table with rows of the run, or a table for
// outputs that existed at an import.
type SchemaLine struct {
	Table   string      `json:"table"`
	SQL     string      `json:"sql"`
	Columns [][2]string `json:"columns,omitempty"` // an output table's names and kinds, in stored order
}

// FrameRow is the row of a frame in ext/smithers/frames. A frame without a row is exactly as predicted.
type FrameRow struct {
	PeerNo *int64          `json:"frameNo,omitempty"` // absent if it is our number
	Layout source.Layout   `json:"layout,omitempty"`  // absent if it is compact
	Shape  *contents.Shape `json:"shape,omitempty"`   // absent if it is zero
	// The overrides of the frame's rows in _smithers_snapshots and _smithers_frames. null means that the row does not
	// exist.
	Snapshot json.RawMessage `json:"snapshot,omitempty"`
	Frame    json.RawMessage `json:"frame,omitempty"`
}

// empty reports whether the row is not stored because the frame is exactly as predicted.
func (r FrameRow) empty() bool {
	return r.PeerNo == nil && r.Layout == "" && r.Shape == nil && r.Snapshot == nil && r.Frame == nil
}

// PeerNo returns Smithers' number of our frame.
func (p *Peer) PeerNo(frame int64) int64 {
	if row, ok := p.Frames[frame]; ok && row.PeerNo != nil {
		return *row.PeerNo
	}
	return frame
}

// markRow is a Mark without the parts in its key. The key is "<frame>/<what>" or, if that is taken,
// "<frame>/<what>/<n>" with n from 2.
type markRow struct {
	PeerNo int64  `json:"frameNo"`
	Stored string `json:"stored"`
	Found  string `json:"found"`
}

// extContent is an encoded peer: files and rows by name.
type extContent struct {
	files map[string]string
	rows  map[string]map[string]string
}

// encode returns the stored form of the peer.
func (p *Peer) encode() (extContent, error) {
	c := extContent{files: map[string]string{}, rows: map[string]map[string]string{}}
	if p.Pass == (Pass{}) {
		return c, nil
	}
	var err error
	add := func(v any) string {
		text, wrong := encodeJSON(v)
		if err == nil {
			err = wrong
		}
		return text
	}
	c.files[extOutputs], c.files[extPass] = add(p.Layout)+"\n", add(p.Pass)+"\n"
	var schema strings.Builder
	for _, line := range p.Schema {
		schema.WriteString(add(line) + "\n")
	}
	if schema.Len() > 0 {
		c.files[ExtSchema] = schema.String()
	}
	c.rows[extFrames], c.rows[extMarks] = map[string]string{}, map[string]string{}
	for frame, row := range p.Frames {
		if !row.empty() {
			c.rows[extFrames][strconv.FormatInt(frame, 10)] = add(row)
		}
	}
	for _, m := range p.Marks {
		c.rows[extMarks][freeKey(c.rows[extMarks], fmt.Sprintf("%d/%s", m.Frame, m.What))] = add(markRow{m.PeerNo, m.Stored, m.Found})
	}
	for table, overrides := range p.Tables {
		rows := make(map[string]string, len(overrides))
		for _, o := range overrides {
			rows[o.Key] = o.Value
		}
		c.rows[tablePath(table)] = rows
	}
	for collection, keys := range p.Answers {
		rows := make(map[string]string, len(keys))
		for key := range keys {
			rows[key] = "true"
		}
		c.rows[extAnswers+"/"+collection] = rows
	}
	return c, err
}

// freeKey returns key, with a number added if key is taken.
func freeKey(taken map[string]string, key string) string {
	for n, free := 2, key; ; n++ {
		if _, ok := taken[free]; !ok {
			return free
		}
		free = key + "/" + strconv.Itoa(n)
	}
}

// encodeJSON returns v as one line of JSON, without HTML escapes.
func encodeJSON(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", fmt.Errorf("ext/%s: %w", Engine, err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// decode is the inverse of encode. Content that it cannot parse is objstore.ErrCorrupt. It accepts other content that
// encode would not write.
func (c extContent) decode() (*Peer, error) {
	p := &Peer{Frames: map[int64]FrameRow{}, Tables: map[string][]dbrow.Override{}, Answers: AnswerKeys{}}
	for _, collection := range mailCollections {
		for key := range c.rows[extAnswers+"/"+collection] {
			p.Answers.add(collection, key)
		}
	}
	for name, into := range map[string]any{extOutputs: &p.Layout, extPass: &p.Pass} {
		if text, ok := c.files[name]; ok {
			if err := decodeJSON(name, text, into); err != nil {
				return nil, err
			}
		}
	}
	for line := range strings.Lines(c.files[ExtSchema]) {
		var l SchemaLine
		if err := decodeJSON(ExtSchema, line, &l); err != nil {
			return nil, err
		}
		p.Schema = append(p.Schema, l)
	}
	for key, text := range c.rows[extFrames] {
		var row FrameRow
		frame, err := strconv.ParseInt(key, 10, 64)
		if err != nil || frame < 0 {
			return nil, fmt.Errorf("%w: ext/%s/%s: %q is no frame", objstore.ErrCorrupt, Engine, extFrames, key)
		}
		if err := decodeJSON(extFrames, text, &row); err != nil {
			return nil, err
		}
		p.Frames[frame] = row
	}
	if err := c.decodeMarks(p); err != nil {
		return nil, err
	}
	for path, rows := range c.rows {
		table, ok := tableOf(path)
		if !ok {
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(rows)) {
			p.Tables[table] = append(p.Tables[table], dbrow.Override{Key: key, Value: rows[key]})
		}
	}
	return p, nil
}

// decodeMarks decodes the marks into p, sorted by frame.
func (c extContent) decodeMarks(p *Peer) error {
	for _, key := range slices.Sorted(maps.Keys(c.rows[extMarks])) {
		number, what, _ := strings.Cut(key, "/")
		what, _, _ = strings.Cut(what, "/")
		frame, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return fmt.Errorf("%w: ext/%s/%s: %q is no frame", objstore.ErrCorrupt, Engine, extMarks, key)
		}
		var row markRow
		if err := decodeJSON(extMarks, c.rows[extMarks][key], &row); err != nil {
			return err
		}
		p.Marks = append(p.Marks, Mark{Frame: frame, PeerNo: row.PeerNo, What: what, Stored: row.Stored, Found: row.Found})
	}
	slices.SortStableFunc(p.Marks, func(a, b Mark) int { return int(a.Frame - b.Frame) })
	return nil
}

// decodeJSON decodes JSON of the file or collection name into a value.
func decodeJSON(name, text string, into any) error {
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("%w: ext/%s/%s: %w", objstore.ErrCorrupt, Engine, name, err)
	}
	return nil
}

// tablePath returns the name of a table's collection in ext/smithers. It escapes slashes in the table's name.
func tablePath(table string) string {
	return extTables + "/" + strings.NewReplacer("%", "%25", "/", "%2f").Replace(table)
}

// tableOf is the inverse of tablePath.
func tableOf(path string) (table string, ok bool) {
	table, ok = strings.CutPrefix(path, extTables+"/")
	return strings.NewReplacer("%25", "%", "%2f", "/").Replace(table), ok
}

// Mark is a difference between a value in the database and the computed one. The value was imported unchanged.
type Mark struct {
	Frame  int64  `json:"frame"`   // our number
	PeerNo int64  `json:"frameNo"` // Smithers' number
	What   string `json:"what"`    // content_hash, xml_hash, frame, …
	Stored string `json:"stored"`
	Found  string `json:"found"` // the computed value, or the error
}

// Columns returns the columns of all output tables with rows of the run.
func (p *Peer) Columns() []tables.OutputColumn {
	var all []tables.OutputColumn
	for _, line := range p.Schema {
		for _, c := range line.Columns {
			all = append(all, tables.OutputColumn{Table: line.Table, Column: c[0], Kind: c[1]})
		}
	}
	return all
}

// OfFrames returns the peer with only the given frames and without tables: the parts that a pass over new frames may
// change.
func (p *Peer) OfFrames(frames []int64) *Peer {
	part := *p
	part.Tables, part.Frames = nil, make(map[int64]FrameRow, len(frames))
	for _, frame := range frames {
		if row, ok := p.Frames[frame]; ok {
			part.Frames[frame] = row
		}
	}
	return &part
}
