package reftable

import (
	"os"

	"github.com/git-smithers/git-smithers/objstore"
)

const (
	// mergeAt is the number of newest tables that can be merged from which an append merges. A stack stays well below 24
	// tables.
	mergeAt = 16
	// mergeSize is the size in bytes up to which a table is merged: an append that writes more would keep git waiting.
	mergeSize = 1 << 20
	// mergeFactor is how many times bigger than all newer tables a table may be to be merged with them. So a ref is written
	// again only as often as the stack grows by this factor.
	mergeFactor = 2
)

// mergeFrom returns the number of the first table that the next append merges into its own, or the number of tables if it
// merges none. size is the size of the table to append in bytes. A table with a reflog stays. A table with a lock stays,
// too, and all older tables: git is merging them.
func (v *View) mergeFrom(size int) int {
	from := len(v.tables)
	for from > 0 && v.tables[from-1].logs.start < 0 && v.tables[from-1].size <= mergeSize {
		from--
	}
	if len(v.tables)-from < mergeAt {
		return len(v.tables)
	}
	at, sum := len(v.tables), int64(size)
	for at > from && v.tables[at-1].size <= mergeFactor*sum {
		if _, err := os.Lstat(v.tables[at-1].path + lockSuffix); !os.IsNotExist(err) {
			break
		}
		at--
		sum += v.tables[at].size
	}
	return at
}

// union returns the table with the refs of tables. If the tables are the oldest of a stack, nothing is below them to hide, and the
// union leaves out deleted refs.
func union(hash objstore.Algorithm, tables []*table, oldest bool) ([]byte, error) {
	var entries []entry
	for e, err := range merge(tables, "") {
		if err != nil {
			return nil, err
		}
		if e.value != valueDeleted || !oldest {
			entries = append(entries, e)
		}
	}
	return encode(hash, entries, tables[0].first, tables[len(tables)-1].last), nil
}
