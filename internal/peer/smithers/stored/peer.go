// Package stored reads the stored data of a run of Smithers from the repository: ext/smithers of the run's entries, the
// run's frames by Smithers' numbers, and the answers that Smithers does not have.
package stored

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/contents"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/objstore"
)

// Engine is the name of Smithers' folder in ext.
const Engine = "smithers"

// The files and folders of ext/smithers.
const (
	extOutputs = "outputs" // a file with a contents.Layout
	ExtSchema  = "schema"  // a file with one SchemaLine a line
	extPass    = "pass"    // a file with a Pass
	extFrames  = "frames"  // a collection of FrameRow
	extMarks   = "marks"   // a collection of markRow
	// extSnapshots is a collection with the row of each frame's snapshot without the four texts, as dbrow.KeepOne writes
	// it. The key is git-smithers' number of the frame.
	extSnapshots = "snapshots"
	extTables    = "tables"  // a folder with a collection of dbrow.KeptRow for each table
	extAnswers   = "answers" // a folder with a collection of AnswerKeys for each collection of the mailbox
)

// Peer is the content of a run's ext/smithers without the rows of tables and snapshots, which TableRows and SnapshotRow
// read. Together with these rows and the run, a Peer has all data that Smithers had of the run. The zero Peer belongs to a run that was never
// imported.
type Peer struct {
	Layout contents.Layout
	Schema []SchemaLine
	Pass   Pass
	Frames map[int64]FrameRow // by git-smithers' number of the frame
	Marks  []Mark
	// Answers has the keys of the answers that are in the run's mailbox and that Smithers does not have.
	Answers AnswerKeys
}

// Form is the number of the form in which this program keeps the rows of a run. Earlier versions kept differences from
// rows that they predicted; a Pass of these versions has no form. Their runs can be read, but not exported, until an
// import of the same database keeps their rows.
const Form = 2

// Pass is the progress of a run's import. The last entry of an import changes the Pass, and so does the first entry of
// a new run. All other entries keep the Pass. So if the tip and the entry before the tip have different passes, the run
// is unchanged since its import.
type Pass struct {
	Number int64 `json:"pass"`   // number of imports that changed the run
	Frame  int64 `json:"frame"`  // the newest imported frame
	Events int64 `json:"events"` // number of imported events of Smithers
	Form   int   `json:"form"`   // see Form
	// Rows is the digest, in hex, of all rows that the database had of the run.
	Rows string `json:"rows"`
	// NoTrees means that the database has no table of rendered trees: an export then makes rows of this table.
	NoTrees bool `json:"noTrees,omitempty"`
}

// IsOlder reports whether an earlier version imported the run: see Form.
func (p Pass) IsOlder() bool { return p != (Pass{}) && p.Form != Form }

// SchemaLine is a table that differs from the tables of Smithers 0.32.0: either a table with rows of the run, or an
// output table that existed at an import.
type SchemaLine struct {
	Table   string      `json:"table"`
	SQL     string      `json:"sql"`
	Columns [][2]string `json:"columns,omitempty"` // the name and kind of each column of an output table, in stored order
}

// FrameRow is the row of a frame in ext/smithers/frames. A frame has no row if Smithers has the frame under the same
// number, and Write gives the texts of its snapshot.
type FrameRow struct {
	PeerNo *int64          `json:"frameNo,omitempty"` // Smithers' number; nil if it equals git-smithers' number
	Layout source.Layout   `json:"layout,omitempty"`  // "" means source.Compact
	Shape  *contents.Shape `json:"shape,omitempty"`   // nil means the zero Shape
}

// empty reports whether r has no data. An empty row is not stored.
func (r FrameRow) empty() bool { return r.PeerNo == nil && r.Layout == "" && r.Shape == nil }

// PeerNo returns Smithers' number of frame, or tables.NoNumber if Smithers never had the frame. A frame without a row
// has the same number in Smithers.
func (p *Peer) PeerNo(frame int64) int64 {
	if row, ok := p.Frames[frame]; ok && row.PeerNo != nil {
		return *row.PeerNo
	}
	return frame
}

// markRow is a Mark without the fields in its key. The key is "<frame>/<what>". If another mark has that key, the key
// is "<frame>/<what>/<n>" with the lowest free n from 2 on.
type markRow struct {
	PeerNo int64  `json:"frameNo"`
	Stored string `json:"stored"`
	Found  string `json:"found"`
}

// extContent is an encoded Peer.
type extContent struct {
	files map[string]string            // the text of each file, by the file's name
	rows  map[string]map[string]string // the values of each collection, by the collection's name and the row's key
}

// encode returns the stored form of p: files with whole values, and collections with rows by key. If p has the
// zero Pass, the result is empty.
func (p *Peer) encode() (extContent, error) {
	c := extContent{files: map[string]string{}, rows: map[string]map[string]string{}}
	if p.Pass == (Pass{}) {
		return c, nil
	}
	var err error
	// add returns the JSON of v, and keeps the first error in err.
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
			c.rows[extFrames][frameKey(frame)] = add(row)
		}
	}
	for _, m := range p.Marks { // the key is the frame's number and the kind of the mark
		c.rows[extMarks][freeKey(c.rows[extMarks], fmt.Sprintf("%d/%s", m.Frame, m.What))] = add(markRow{m.PeerNo, m.Stored, m.Found})
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

// frameKey returns the key of a frame's row in a collection.
func frameKey(frame int64) string { return strconv.FormatInt(frame, 10) }

// freeKey returns key if taken does not have it, and otherwise key with "/<n>" added. n is the lowest free
// number from 2 on.
func freeKey(taken map[string]string, key string) string {
	for n, free := 2, key; ; n++ {
		if _, ok := taken[free]; !ok {
			return free
		}
		free = key + "/" + strconv.Itoa(n)
	}
}

// encodeJSON returns v as one line of JSON without a line end and without HTML escapes.
func encodeJSON(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", fmt.Errorf("ext/%s: %w", Engine, err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// decode returns the Peer whose stored form is c. The error is objstore.ErrCorrupt if decode cannot parse c. decode
// accepts some content that encode does not write, for example an unknown member of a frame's row.
func (c extContent) decode() (*Peer, error) {
	p := &Peer{Frames: map[int64]FrameRow{}, Answers: AnswerKeys{}}
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
			return nil, fmt.Errorf("%w: ext/%s/%s: key %q is not a frame number", objstore.ErrCorrupt, Engine, extFrames, key)
		}
		if err := decodeJSON(extFrames, text, &row); err != nil {
			return nil, err
		}
		p.Frames[frame] = row
	}
	return p, c.decodeMarks(p)
}

// decodeMarks appends the marks of c to p, sorted by frame and then by key. A key has the form that encode writes.
// The error is objstore.ErrCorrupt if a key or a value is invalid.
func (c extContent) decodeMarks(p *Peer) error {
	for _, key := range slices.Sorted(maps.Keys(c.rows[extMarks])) {
		number, what, _ := strings.Cut(key, "/")
		what, _, _ = strings.Cut(what, "/")
		frame, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return fmt.Errorf("%w: ext/%s/%s: key %q does not begin with a frame number", objstore.ErrCorrupt, Engine, extMarks, key)
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

// decodeJSON decodes the JSON in text into the value to which into points. If text is invalid, the error wraps
// objstore.ErrCorrupt and has name, the name of the file or collection that has the text.
func decodeJSON(name, text string, into any) error {
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("%w: ext/%s/%s: %w", objstore.ErrCorrupt, Engine, name, err)
	}
	return nil
}

// Mark is a difference between a value in the database and the computed value. The import did not change the value.
type Mark struct {
	Frame  int64  `json:"frame"`   // git-smithers' number
	PeerNo int64  `json:"frameNo"` // Smithers' number
	What   string `json:"what"`    // content_hash, xml_hash or frame
	Stored string `json:"stored"`  // the value in the database
	Found  string `json:"found"`   // the computed value, or the error of the computation
}

// Columns returns the columns of all output tables in p.Schema, in the order of p.Schema.
func (p *Peer) Columns() []tables.OutputColumn {
	var all []tables.OutputColumn
	for _, line := range p.Schema {
		for _, c := range line.Columns {
			all = append(all, tables.OutputColumn{Table: line.Table, Column: c[0], Kind: c[1]})
		}
	}
	return all
}

// OfFrames returns a copy of p with only the given frames. These are the parts of p that a pass over new frames may
// change.
func (p *Peer) OfFrames(frames []int64) *Peer {
	part := *p
	part.Frames = make(map[int64]FrameRow, len(frames))
	for _, frame := range frames {
		if row, ok := p.Frames[frame]; ok {
			part.Frames[frame] = row
		}
	}
	return &part
}
