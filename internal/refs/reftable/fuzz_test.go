package reftable

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/objstore"
)

// FuzzTable reads tables of strangers. Each read ends, without a panic and with little memory. If our check finds nothing, every ref is
// found by its name.
func FuzzTable(f *testing.F) {
	ids := []objstore.ID{objstore.SHA1.EmptyBlob(), objstore.SHA1.EmptyTree()}
	var entries []entry
	for i := range 300 {
		name := "refs/x/" + string(rune('a'+i/26)) + string(rune('a'+i%26))
		entries = append(entries, entry{Record: Record{Name: name, ID: ids[i%2]}, value: valueID, index: 1})
	}
	entries[0].value, entries[0].Peeled = valuePeeled, ids[1]
	entries[1].value, entries[1].ID = valueDeleted, objstore.ID{}
	entries[2].value, entries[2].ID, entries[2].Target = valueSymbolic, objstore.ID{}, "refs/heads/main"
	f.Add(encode(objstore.SHA1, entries[:4], 1, 1), "refs/x/ab")
	f.Add(encode(objstore.SHA1, entries[:120], 1, 1), "refs/x/kk")
	f.Fuzz(func(t *testing.T, content []byte, name string) {
		content = bytes.Clone(content)
		seal(content)
		read, err := smallTableOf("0x1-0x1-1.ref", content, objstore.SHA1)
		if err != nil {
			return
		}
		view := &View{tables: []*table{read}}
		checked := read.check(0)
		_, _ = view.HasLog(name)
		_, _, err = view.Get(name)
		if checked == nil {
			require.NoError(t, err)
		}
		for rec, err := range view.Each("", "") {
			if checked != nil {
				continue
			}
			require.NoError(t, err)
			got, found, err := view.Get(rec.Name)
			require.NoError(t, err)
			require.True(t, found)
			require.Equal(t, rec, got)
		}
	})
}

// seal makes the end of a table agree with its beginning and with its sum, so that the fuzzer gets behind them.
func seal(content []byte) {
	head := 24
	if len(content) > 4 && content[4] == 2 {
		head = 28
	}
	if end := len(content) - head - 44; end >= head {
		copy(content[end:], content[:head])
		binary.BigEndian.PutUint32(content[len(content)-4:], crc32.ChecksumIEEE(content[end:len(content)-4]))
	}
}

// FuzzList: a list names only files in the folder of its stack.
func FuzzList(f *testing.F) {
	for _, seed := range []string{"", "0x1-0x1-1.ref\n", "a\n\nb\n", "../x\n", "a", "/etc/passwd\n", "C:\\x\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		names, err := Open("stack", objstore.SHA1).parseList(text)
		if err != nil {
			return
		}
		for _, name := range names {
			require.Equal(t, "stack", filepath.Dir(filepath.Join("stack", name)))
		}
	})
}
