package smithers

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"maps"
	"math"
	"slices"

	"github.com/git-smithers/git-smithers/internal/smithersdb"
)

// rowsDigest is the digest of the rows that the database has of the run.
func (p *peerRun) rowsDigest() string { return p.allRows().digest() }

// movableDigest is the digest of those rows with a mark in place of the root's path, so that an export to any folder can
// be checked against it; "" if no row has the root's path.
func (p *peerRun) movableDigest() string {
	all, moved := p.allRows(), false
	for _, table := range all.tables {
		if rows, found := p.at.movable(table, all.rows[table.Name]); found {
			all.rows[table.Name], moved = rows, true
		}
	}
	if !moved {
		return ""
	}
	return all.digest()
}

// allRows are the rows that the database has of the run and of no run at all.
func (p *peerRun) allRows() runRows {
	all := runRows{schema: p.schema(p.uses), heads: p.heads, tables: p.tx.Tables(), rows: maps.Clone(p.rows)}
	for _, one := range p.left {
		all.rows[one.table.Name] = one.rows
	}
	if table := p.tx.Table(tableFrames); table != nil {
		all.framesTable = *table
		for _, no := range slices.Sorted(maps.Keys(p.frameRows)) {
			all.frames = append(all.frames, p.frameRows[no])
		}
	}
	return all
}

// runRows is everything that a database has of a run, except the contents of snapshots and what belongs to processes.
type runRows struct {
	schema      []schemaLine
	heads       []smithersdb.Head
	tables      []smithersdb.Table          // sorted by name
	rows        map[string][]smithersdb.Row // by table; those of _smithers_frames are in frames
	framesTable smithersdb.Table
	frames      []smithersdb.Row // sorted by frame_no
}

// digest names the rows. Snapshots count with their hashes. A table of outputs without rows of the run does not count, and
// neither does an output column without a value: another workflow may have added it to a table that both have.
func (all runRows) digest() string {
	h := newDigester()
	for _, line := range all.schema {
		rows := all.rows[line.Table]
		for _, c := range line.Columns {
			if slices.ContainsFunc(rows, func(row smithersdb.Row) bool { return row[c[0]].Kind != smithersdb.Null }) {
				h.text(line.Table)
				h.text(c[0])
				h.text(c[1])
			}
		}
	}
	for _, head := range all.heads {
		h.number(head.Frame)
		h.number(head.AtMs)
		h.text(head.ContentHash)
	}
	for _, table := range all.tables {
		h.rows(table, all.rows[table.Name])
	}
	for _, row := range all.frames {
		h.rows(all.framesTable, []smithersdb.Row{row})
	}
	return h.sum()
}

// digester takes in values so that no two lists of them are the same bytes.
type digester struct {
	hash  hash.Hash
	bytes []byte // not hashed yet
}

func newDigester() *digester { return &digester{hash: sha256.New()} }

func (d *digester) sum() string {
	d.hash.Write(d.bytes)
	d.bytes = d.bytes[:0]
	return hex.EncodeToString(d.hash.Sum(nil))
}

func (d *digester) number(n int64) { d.bytes = binary.BigEndian.AppendUint64(d.bytes, uint64(n)) }

func (d *digester) text(s string) {
	const most = 1 << 16
	d.number(int64(len(s)))
	for {
		n := min(len(s), most)
		d.bytes = append(d.bytes, s[:n]...)
		if len(d.bytes) > most {
			d.hash.Write(d.bytes)
			d.bytes = d.bytes[:0]
		}
		if s = s[n:]; s == "" {
			return
		}
	}
}

func (d *digester) rows(table smithersdb.Table, rows []smithersdb.Row) {
	if len(rows) == 0 {
		return
	}
	d.text(table.Name)
	for _, row := range rows {
		d.number(-1) // no length
		for _, c := range table.Columns {
			v := row[c.Name]
			if v.Kind == smithersdb.Null || processColumn(table.Name, c.Name) {
				continue
			}
			d.text(c.Name)
			d.value(v)
		}
	}
}

func (d *digester) value(v smithersdb.Value) {
	d.number(int64(v.Kind))
	d.number(v.Int)
	d.number(int64(math.Float64bits(v.Real)))
	d.text(v.Bytes)
}
