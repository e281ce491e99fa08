package dbrow

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
)

// Digester computes a hash of a list of numbers, texts, values and rows. It hashes each of these with a fixed
// length or after its length. So different lists of the same kinds are hashed as different bytes.
type Digester struct {
	hash  hash.Hash
	bytes []byte // the bytes that are not hashed yet
}

// NewDigester returns a Digester of an empty list.
func NewDigester() *Digester { return &Digester{hash: sha256.New()} }

// Sum returns the SHA-256, in hex, of the list so far. The caller can add to the list afterwards.
func (d *Digester) Sum() string {
	d.hash.Write(d.bytes)
	d.bytes = d.bytes[:0]
	return hex.EncodeToString(d.hash.Sum(nil))
}

// Number adds a number to the list, as 8 bytes.
func (d *Digester) Number(n int64) { d.bytes = binary.BigEndian.AppendUint64(d.bytes, uint64(n)) }

// Text adds the length of s in bytes and then s to the list. It hashes a long text in parts, so that d.bytes stays
// short.
func (d *Digester) Text(s string) {
	// most is the length in bytes of a part. When d.bytes is longer, Text hashes d.bytes and empties it.
	const most = 1 << 16
	d.Number(int64(len(s)))
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

// Rows adds the name of a table and the table's rows to the list, in the order of rows. It leaves out NULLs and
// the columns for which IsProcessColumn returns true. If rows is empty, Rows adds nothing.
func (d *Digester) Rows(table source.Table, rows []source.Row) {
	if len(rows) == 0 {
		return
	}
	d.Text(table.Name)
	for _, row := range rows {
		d.Number(-1) // marks the start of a row, because no text has this length
		for _, c := range table.Columns {
			v := row[c.Name]
			if v.Kind == source.Null || IsProcessColumn(table.Name, c.Name) {
				continue
			}
			d.Text(c.Name)
			d.Value(v)
		}
	}
}

// Value adds the kind and the content of v to the list.
func (d *Digester) Value(v source.Value) {
	d.Number(int64(v.Kind))
	d.Number(v.Int)
	d.Number(int64(math.Float64bits(v.Real)))
	d.Text(v.Bytes)
}
