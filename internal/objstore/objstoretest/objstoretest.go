// Package objstoretest has a test suite that checks the contract of an [objstore.Writer].
package objstoretest

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/objstore"
)

// Factory makes an empty writer for a test. commit makes the added objects durable, and returns a
// reader that has only the durable objects.
type Factory func(t *testing.T) (w objstore.Writer, commit func() objstore.Reader)

// Run runs the suite against the writers that newStore makes.
func Run(t *testing.T, newStore Factory) {
	t.Helper()
	for _, test := range []struct {
		rule string
		run  func(*testing.T, Factory)
	}{
		{"an object is readable as soon as it is added", readableAtOnce},
		{"an object is readable after it was made durable", readableLater},
		{"an object has the id that git gives it", gitID},
		{"an object that is added twice is one object", addedTwice},
		{"objects of all kinds and sizes come back unchanged", kindsAndSizes},
		{"a missing object is ErrNotFound", missing},
		{"the zero id names no object", zero},
		{"readers may work side by side", concurrentReaders},
	} {
		t.Run(test.rule, func(t *testing.T) {
			t.Parallel()
			test.run(t, newStore)
		})
	}
}

// requireObject checks that r has the object id with this kind and these bytes.
func requireObject(t *testing.T, r objstore.Reader, id objstore.ID, kind objstore.Kind, data []byte) {
	t.Helper()
	gotKind, got, err := r.Get(id)
	require.NoError(t, err)
	assert.Equal(t, kind, gotKind)
	assert.True(t, bytes.Equal(data, got), "the bytes of %v differ", id)
}

// readableAtOnce checks that the writer returns an object before commit.
func readableAtOnce(t *testing.T, newStore Factory) {
	w, _ := newStore(t)
	id := w.Add(objstore.Blob, []byte("here"))
	requireObject(t, w, id, objstore.Blob, []byte("here"))
}

// readableLater checks that both the writer and the reader of commit return an object after commit.
func readableLater(t *testing.T, newStore Factory) {
	w, commit := newStore(t)
	id := w.Add(objstore.Blob, []byte("here"))
	r := commit()
	requireObject(t, r, id, objstore.Blob, []byte("here"))
	requireObject(t, w, id, objstore.Blob, []byte("here"))
}

// gitID checks that Add returns the id that git gives to a blob.
func gitID(t *testing.T, newStore Factory) {
	w, _ := newStore(t)
	for _, data := range []string{"", "hello\n", "a\x00b"} {
		named := []byte("blob " + strconv.Itoa(len(data)) + "\x00" + data)
		want := fmt.Sprintf("%x", sha1.Sum(named))
		if objstore.HashOf(w) == objstore.SHA256 {
			want = fmt.Sprintf("%x", sha256.Sum256(named))
		}
		assert.Equal(t, want, w.Add(objstore.Blob, []byte(data)).String())
	}
}

// addedTwice checks that a second Add of an object returns the same id, before and after commit.
func addedTwice(t *testing.T, newStore Factory) {
	w, commit := newStore(t)
	first := w.Add(objstore.Blob, []byte("twice"))
	assert.Equal(t, first, w.Add(objstore.Blob, []byte("twice")))
	r := commit()
	assert.Equal(t, first, w.Add(objstore.Blob, []byte("twice")), "added again after it was made durable")
	requireObject(t, r, first, objstore.Blob, []byte("twice"))
}

// kindsAndSizes checks that objects of all four kinds, and blobs around the limits of sizes in packs, are
// unchanged after commit.
func kindsAndSizes(t *testing.T, newStore Factory) {
	w, commit := newStore(t)
	type added struct {
		kind objstore.Kind
		data []byte
	}
	objects := make(map[objstore.ID]added)
	add := func(kind objstore.Kind, data []byte) objstore.ID {
		id := w.Add(kind, data)
		objects[id] = added{kind, data}
		return id
	}
	text := bytes.Repeat([]byte("one line of text, "), 1<<13)
	noise := make([]byte, 0, 200<<10)
	for i := 0; len(noise) < cap(noise); i++ {
		sum := sha1.Sum([]byte(strconv.Itoa(i)))
		noise = append(noise, sum[:]...)
	}
	for _, size := range []int{0, 1, 15, 16, 47, 48, 49, 127, 128, 2047, 2048, 4095, 4096, 32767, 32768, 32769, 65535, 65536, 65537, 100_000} {
		add(objstore.Blob, text[:size])
		add(objstore.Blob, noise[:size])
	}
	blob := add(objstore.Blob, []byte("leaf"))
	tree := add(objstore.Tree, objstore.EncodeTree([]objstore.TreeEntry{{Name: "leaf", Mode: objstore.ModeFile, ID: blob}}))
	who := "A U Thor <author@localhost.invalid> 1700000000 +0000"
	commitID := add(objstore.Commit, fmt.Appendf(nil, "tree %v\nauthor %s\ncommitter %s\n\nsubject\n", tree, who, who))
	add(objstore.Tag, fmt.Appendf(nil, "object %v\ntype commit\ntag v1\ntagger %s\n\nsubject\n", commitID, who))
	r := commit()
	for id, o := range objects {
		requireObject(t, r, id, o.kind, o.data)
	}
}

// missing checks that the error about a missing object wraps objstore.ErrNotFound and contains the id.
func missing(t *testing.T, newStore Factory) {
	w, commit := newStore(t)
	w.Add(objstore.Blob, []byte("other"))
	absent := objstore.HashOf(w).ID(objstore.Blob, []byte("absent"))
	for _, r := range []objstore.Reader{w, commit()} {
		_, _, err := r.Get(absent)
		require.ErrorIs(t, err, objstore.ErrNotFound)
		assert.ErrorContains(t, err, absent.String())
	}
}

// zero checks that no object has the zero id.
func zero(t *testing.T, newStore Factory) {
	w, _ := newStore(t)
	_, _, err := w.Get(objstore.ID{})
	assert.ErrorIs(t, err, objstore.ErrNotFound)
}

// concurrentReaders checks that several goroutines may read at the same time.
func concurrentReaders(t *testing.T, newStore Factory) {
	w, commit := newStore(t)
	var ids []objstore.ID
	for i := range 50 {
		ids = append(ids, w.Add(objstore.Blob, []byte("object "+strconv.Itoa(i))))
	}
	r := commit()
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for i, id := range ids {
				_, data, err := r.Get(id)
				assert.NoError(t, err)
				assert.Equal(t, "object "+strconv.Itoa(i), string(data))
			}
		})
	}
	wait.Wait()
}
