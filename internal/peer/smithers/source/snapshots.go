package source

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

const (
	snapshotsTable = "_smithers_snapshots"
	refsTable      = "_smithers_snapshot_payload_refs"
	contentsTable  = "_smithers_snapshot_contents"
	payloadsTable  = "_smithers_snapshot_payloads"
)

// Head describes a snapshot without its contents.
type Head struct {
	Frame       int64  // Smithers' number of the frame
	AtMs        int64  // the time of the snapshot, in milliseconds since 1970
	ContentHash string // as stored, unchecked
}

// Heads returns the heads of a run's snapshots, sorted by frame. If the database has no table of snapshots, the
// result is nil. If the table lacks a column or a row is invalid, the error wraps ErrDamaged.
func (t *Tx) Heads(run string) ([]Head, error) {
	table := t.Table(snapshotsTable)
	if table == nil {
		return nil, nil
	}
	if !table.has("run_id", "frame_no", "created_at_ms", "content_hash") {
		return nil, damaged("table %s lacks columns", snapshotsTable)
	}
	rows, err := t.kept.query(`SELECT +frame_no, +created_at_ms, +content_hash FROM `+snapshotsTable+
		` WHERE run_id = ? COLLATE BINARY ORDER BY frame_no`, run)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err returns the same error
	var heads []Head
	for rows.Next() {
		var frame, at, hash any
		if err := rows.Scan(&frame, &at, &hash); err != nil {
			return nil, explain(err)
		}
		head, err := headOf(frame, at, hash)
		if err != nil {
			return nil, err
		}
		heads = append(heads, head)
	}
	return heads, explain(rows.Err())
}

// Newest returns the last element of Heads, or nil if Heads would be empty. It also returns nil if the table of
// snapshots lacks columns. If the newest row is invalid, the error wraps ErrDamaged. The cost does not depend on
// the number of snapshots.
func (t *Tx) Newest(run string) (*Head, error) {
	table := t.Table(snapshotsTable)
	if table == nil || !table.has("run_id", "frame_no", "created_at_ms", "content_hash") {
		return nil, nil //nolint:nilnil // nil means that there is no snapshot
	}
	rows, err := t.kept.query(`SELECT +frame_no, +created_at_ms, +content_hash FROM `+snapshotsTable+
		` WHERE run_id = ? COLLATE BINARY ORDER BY frame_no DESC LIMIT 1`, run)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err returns the same error
	if !rows.Next() {
		return nil, explain(rows.Err())
	}
	var frame, at, hash any
	if err := rows.Scan(&frame, &at, &hash); err != nil {
		return nil, explain(err)
	}
	head, err := headOf(frame, at, hash)
	return &head, err
}

// headOf returns the Head with the given values, as the driver returns them. frame is the number of the frame, at
// is the time, and hash is the content hash. If a value has the wrong type, or the frame number is negative, the
// error wraps ErrDamaged.
func headOf(frame, at, hash any) (Head, error) {
	number, ok := frame.(int64)
	if !ok || number < 0 {
		return Head{}, damaged("a snapshot has the frame number %v", frame)
	}
	ms, ok := at.(int64)
	if !ok {
		return Head{}, damaged("snapshot %d: created_at_ms is not an integer", number)
	}
	text, ok := hash.(string)
	if !ok {
		return Head{}, damaged("snapshot %d: content_hash is not a text", number)
	}
	return Head{number, ms, text}, nil
}

// Layout names the way in which a snapshot is stored.
type Layout string

// The layouts, newest first.
const (
	Compact Layout = "compact" // the texts are in a separate table, by hash
	Inline  Layout = "inline"  // the texts are in the snapshot's row
	Gzip    Layout = "gzip"    // the texts are compressed in a table of payloads; an unreleased version wrote this layout
)

// Snapshot is one snapshot with its contents. Row is the snapshot's row without the four text columns.
type Snapshot struct {
	Head
	Layout Layout
	Row    Row
	Contents
}

// Contents holds the four texts of a snapshot, byte for byte.
type Contents struct{ Nodes, Outputs, Ralph, Input string }

// contentColumns has the names of the columns of the four texts, in the order of Contents.
var contentColumns = [4]string{"nodes_json", "outputs_json", "ralph_json", "input_json"}

// Snapshot returns the snapshot of a frame. Its texts may be stored in any layout. If the snapshot or a text is
// missing or unreadable, the error wraps ErrDamaged. Snapshot does not check the content hash; the caller must.
func (t *Tx) Snapshot(run string, frame int64) (*Snapshot, error) {
	snapshot, err := t.snapshot(run, frame)
	if err != nil {
		return nil, fmt.Errorf("snapshot %d: %w", frame, err)
	}
	return snapshot, nil
}

// snapshot returns the results of Snapshot, but its error does not name the frame. A row in the table of
// references means the layout Compact. Otherwise texts in the snapshot's own row mean the layout Inline, and no
// texts mean the layout Gzip.
func (t *Tx) snapshot(run string, frame int64) (*Snapshot, error) {
	row, err := t.one(snapshotsTable, "run_id = ? COLLATE BINARY AND frame_no = ?", run, frame)
	if err != nil {
		return nil, err
	}
	if row == nil {
		return nil, damaged("the snapshot is missing")
	}
	s := &Snapshot{Row: row}
	if s.Head, err = headOf(plain(row["frame_no"]), plain(row["created_at_ms"]), plain(row["content_hash"])); err != nil {
		return nil, err
	}
	if s.Contents, err = contentsOf(row); err != nil {
		return nil, err
	}
	for _, column := range contentColumns {
		delete(row, column)
	}
	// In the layouts Compact and Gzip, the text columns of the snapshot's row are empty.
	ref, err := t.one(refsTable, "run_id = ? COLLATE BINARY AND frame_no = ?", run, frame)
	switch empty := s.Contents == (Contents{}); {
	case err != nil:
	case ref != nil && (!empty || ref["content_hash"] != row["content_hash"]):
		err = damaged("the snapshot refers to the contents of another snapshot")
	case ref != nil:
		s.Layout = Compact
		s.Contents, err = t.compact(s.ContentHash)
	case !empty:
		s.Layout = Inline
	default:
		s.Layout = Gzip
		s.Contents, err = t.payload(s)
	}
	return s, err
}

// compact returns the texts that are stored under a content hash, in the layout Compact. If the texts are
// missing, the error wraps ErrDamaged.
func (t *Tx) compact(hash string) (Contents, error) {
	row, err := t.one(contentsTable, "content_hash = ?", hash)
	if err != nil {
		return Contents{}, err
	}
	if row == nil {
		return Contents{}, damaged("the contents of the snapshot are missing")
	}
	return contentsOf(row)
}

// contentsOf returns the four texts in the columns contentColumns of row. If a column is missing or not a text,
// the error wraps ErrDamaged.
func contentsOf(row Row) (Contents, error) {
	var texts [4]string
	for i, column := range contentColumns {
		value, ok := row[column]
		if !ok || value.Kind != Text {
			return Contents{}, damaged("%s is not a text", column)
		}
		texts[i] = value.Bytes
	}
	return Contents{texts[0], texts[1], texts[2], texts[3]}, nil
}

// payload returns the texts of a snapshot in the layout Gzip. The table of payloads has the compressed JSON over
// which the content hash is computed. The key of the payload is payload_hash of the snapshot's row or, if that is
// empty, the content hash. If the payload is missing or invalid, the error wraps ErrDamaged.
func (t *Tx) payload(s *Snapshot) (Contents, error) {
	hash := s.ContentHash
	if own := s.Row["payload_hash"]; own.Kind == Text && own.Bytes != "" {
		hash = own.Bytes
	}
	row, err := t.one(payloadsTable, "content_hash = ?", hash)
	if err != nil {
		return Contents{}, err
	}
	packed := row["payload_b64"]
	if packed.Kind != Text {
		return Contents{}, damaged("the contents of the snapshot are missing")
	}
	text, err := unpack(packed.Bytes, t.limit)
	if err != nil {
		return Contents{}, err
	}
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(text, &parts); err != nil {
		return Contents{}, damaged("the contents of the snapshot are not valid: %w", err)
	}
	for _, name := range []string{"nodes", "outputs", "ralph", "input"} {
		if parts[name] == nil {
			return Contents{}, damaged("the contents of the snapshot lack %q", name)
		}
	}
	return Contents{
		string(parts["nodes"]), string(parts["outputs"]), string(parts["ralph"]), string(parts["input"]),
	}, nil
}

// unpack decodes packed from base64 and decompresses the result with gzip. If packed is invalid, the error wraps
// ErrDamaged. If the decompressed data has more than limit bytes, the error wraps ErrTooLarge.
func unpack(packed string, limit int64) ([]byte, error) {
	from, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(packed)))
	if err != nil {
		return nil, damaged("the contents of the snapshot cannot be unpacked: %w", err)
	}
	var text bytes.Buffer
	n, err := io.Copy(&text, io.LimitReader(from, limit+1))
	if err != nil {
		return nil, damaged("the contents of the snapshot cannot be unpacked: %w", err)
	}
	if n > limit {
		return nil, fmt.Errorf("%w: the contents of the snapshot have more than %d bytes", ErrTooLarge, limit)
	}
	return text.Bytes(), nil
}

// one returns the first row in the table called name that matches where, an SQL condition. args has the
// condition's parameters. If the table does not exist or no row matches, the row is nil.
func (t *Tx) one(name, where string, args ...any) (Row, error) {
	table := t.Table(name)
	if table == nil {
		return nil, nil //nolint:nilnil // nil means that there is no row
	}
	for row, err := range t.query(table, selectFrom(table)+" WHERE "+where, args...) {
		return row, err
	}
	return nil, nil //nolint:nilnil // nil means that there is no row
}

// plain converts v to a value for the driver. It is the inverse of valueOf.
func plain(v Value) any {
	switch v.Kind {
	case Int:
		return v.Int
	case Real:
		return v.Real
	case Text:
		return v.Bytes
	case Blob:
		return []byte(v.Bytes)
	default:
		return nil
	}
}
