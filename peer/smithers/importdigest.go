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

// digest names all that a database has of a run, but for what of it belongs to processes and the
// contents of snapshots, which have hashes: where it is the one of the last import, nothing is new. So tables of
// outputs in which the run has nothing are none of its, and neither are columns, which another workflow may have
// added to a table that both have.
func (r *runPass) digest() string {
	h := newDigester()
	for _, line := range r.schema(r.uses) {
		rows := r.rowsOf(line.Table)
		for _, c := range line.Columns {
			if slices.ContainsFunc(rows, func(row smithersdb.Row) bool { return row[c[0]].Kind != smithersdb.Null }) {
				h.text(line.Table)
				h.text(c[0])
				h.text(c[1])
			}
		}
	}
	for _, head := range r.heads {
		h.number(head.Frame)
		h.number(head.AtMs)
		h.text(head.ContentHash)
	}
	for _, table := range r.tx.Tables() {
		h.rows(table, r.rowsOf(table.Name))
	}
	if table := r.tx.Table(tableFrames); table != nil {
		for _, no := range slices.Sorted(maps.Keys(r.frameRows)) {
			h.rows(*table, []smithersdb.Row{r.frameRows[no]})
		}
	}
	return h.sum()
}

// rowsOf are the rows that the run has in a table, or all of one whose rows belong to no run.
func (r *runPass) rowsOf(table string) []smithersdb.Row {
	for _, one := range r.im.left {
		if one.table.Name == table {
			return one.rows
		}
	}
	return r.rows[table]
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
