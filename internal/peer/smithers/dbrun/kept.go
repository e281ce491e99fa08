package dbrun

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
)

// Kept returns the rows of the run in the form in which the repository keeps them, by the table's name, and their digest,
// in hex. It adds the rows of p.Left, which are in unknown tables and belong to no single run.
//
// For a snapshot, the digest covers only the number, the time and the content hash. It leaves out output tables without
// rows of the run and output columns without a value, because another workflow may have added these tables and columns.
func (p *Run) Kept() (rows map[string][]dbrow.KeptRow, digest string, err error) {
	rows = make(map[string][]dbrow.KeptRow)
	for _, table := range tables.OfRun(p.Tx.Tables()) {
		if rows[table.Name], err = dbrow.Keep(table, p.Rows[table.Name], p.At); err != nil {
			return nil, "", err
		}
	}
	for _, one := range p.Left {
		if rows[one.Table.Name], err = dbrow.Keep(one.Table, one.Rows, p.At); err != nil {
			return nil, "", err
		}
	}
	h := sha256.New()
	for _, head := range p.Heads {
		h.Write(fmt.Appendf(nil, "%d %d %q\n", head.Frame, head.AtMs, head.ContentHash))
	}
	p.addKinds(h)
	for _, table := range slices.Sorted(maps.Keys(rows)) {
		for _, row := range rows[table] {
			h.Write(fmt.Appendf(nil, "%q %d %d\n%s%s", table, len(row.Key), len(row.Value), row.Key, row.Value))
		}
	}
	return rows, hex.EncodeToString(h.Sum(nil)), nil
}

// addKinds writes the kinds of the output columns that have a value in the run.
func (p *Run) addKinds(h hash.Hash) {
	columns := slices.SortedStableFunc(slices.Values(p.columns), func(a, b tables.OutputColumn) int { return cmp.Compare(a.Table, b.Table) })
	for _, c := range columns {
		if slices.ContainsFunc(p.Rows[c.Table], func(row source.Row) bool { return row[c.Column].Kind != source.Null }) {
			h.Write(fmt.Appendf(nil, "%q %q %q\n", c.Table, c.Column, c.Kind))
		}
	}
}
