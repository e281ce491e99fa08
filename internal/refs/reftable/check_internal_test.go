package reftable

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/objstore"
)

// entriesOf returns n entries in the order of their names.
func entriesOf(n int) []entry {
	entries := make([]entry, n)
	for i := range entries {
		entries[i] = entry{Record: Record{Name: fmt.Sprintf("refs/x/%05d", i), ID: objstore.SHA1.EmptyBlob()}, value: valueID, index: 1}
	}
	return entries
}

// TestCheckNamesEachDamagedTable damages the blocks of a table, which have no sum of their own, in ways that git does not notice.
func TestCheckNamesEachDamagedTable(t *testing.T) {
	t.Parallel()
	sound := encode(objstore.SHA1, entriesOf(300), 1, 1)
	index := int(binary.BigEndian.Uint64(sound[len(sound)-44:]))
	change := func(at int, b ...byte) []byte {
		changed := bytes.Clone(sound)
		copy(changed[at:], b)
		return changed
	}
	swapped, late := entriesOf(40), entriesOf(3)
	swapped[20], swapped[21] = swapped[21], swapped[20]
	late[1].index = 7
	for name, c := range map[string]struct {
		table []byte
		words string
	}{
		"sound":             {sound, ""},
		"unsorted":          {encode(objstore.SHA1, swapped, 1, 1), "is in the wrong place"},
		"a later record":    {encode(objstore.SHA1, late, 1, 1), "is in the wrong place"},
		"no kind":           {change(index, 'x'), "points at no block"},
		"a long key":        {change(28, 0, 0xff, 0xff, 0x78), "a record is cut"},
		"a shared key":      {change(28, 5), "a key is cut"},
		"an unknown value":  {change(29, 14<<3|5), "unknown type"},
		"a long block":      {change(25, 0xff), "it is cut"},
		"a short block":     {change(25, 0, 0, 9), "it is cut"},
		"a wrong index":     {change(index+17, sound[index+17]^1), "is not found by its name"},
		"older than below":  {encode(objstore.SHA1, entriesOf(3), 0, 0), "older than those of the table below"},
		"reversed":          {encode(objstore.SHA1, entriesOf(3), 1, 0), "older than those of the table below"},
		"a wrong restart":   {change(index-5, 0, 0), "damaged reftable"},
		"a number too long": {change(28, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), "a number is cut"},
	} {
		dir := t.TempDir()
		write := func(file string, content []byte) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, file), content, 0o666))
		}
		write("0x1-0x1-a.ref", encode(objstore.SHA1, entriesOf(1), 1, 1))
		write("0x1-0x1-b.ref", c.table)
		write("0x1-0x1-c.ref", encode(objstore.SHA1, entriesOf(1), 1, 1))
		write(listName, []byte("0x1-0x1-a.ref\n0x1-0x1-b.ref\n0x1-0x1-c.ref\n"))
		problems, err := Open(dir, objstore.SHA1).Check()
		require.NoError(t, err, name)
		if c.words == "" {
			assert.Empty(t, problems, name)
			continue
		}
		require.NotEmpty(t, problems, name)
		assert.Contains(t, problems[0], c.words, name)
		assert.Contains(t, problems[0], "0x1-0x1-b.ref", name)
	}
}

// TestErrorsNameTheRefAndItsValue: a person reads them.
func TestErrorsNameTheRefAndItsValue(t *testing.T) {
	t.Parallel()
	id := objstore.SHA1.EmptyBlob()
	for want, err := range map[string]error{
		"ref moved: refs/x is at " + id.String() + ", but was expected at " + strings.Repeat("0", 40): &MismatchError{Name: "refs/x", Found: Record{ID: id}},
		"another ref is in the way of refs/x/a: refs/x":                                               &ObstructedError{Name: "refs/x/a", Other: "refs/x"},
		"reftable is locked: tables.list.lock":                                                        &LockedError{Path: "tables.list.lock"},
		"reftable of another hash: a.ref: why":                                                        &DamagedError{Path: "a.ref", Reason: "why", Foreign: true},
	} {
		require.EqualError(t, err, want)
	}
}
