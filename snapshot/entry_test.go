package snapshot_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// forge writes an entry like tip, whose tree is what edit makes of tip's.
func (c *chain) forge(t testing.TB, edit func([]objstore.TreeEntry) []objstore.TreeEntry) *snapshot.Entry {
	t.Helper()
	entries, err := objstore.ReadTree(c.store, c.tip.Tree)
	require.NoError(t, err)
	h := c.tip.Header
	h.Tree = c.store.Add(objstore.Tree, objstore.EncodeTree(edit(entries)))
	return c.reopen(t, c.store.Add(objstore.Commit, snapshot.EncodeHeader(h)))
}

// replace puts an object in the place of a name, or adds it under the name.
func replace(name string, mode objstore.Mode, id objstore.ID) func([]objstore.TreeEntry) []objstore.TreeEntry {
	return func(entries []objstore.TreeEntry) []objstore.TreeEntry {
		kept := without(name)(entries)
		return append(kept, objstore.TreeEntry{Name: name, Mode: mode, ID: id})
	}
}

func without(name string) func([]objstore.TreeEntry) []objstore.TreeEntry {
	return func(entries []objstore.TreeEntry) []objstore.TreeEntry {
		var kept []objstore.TreeEntry
		for _, e := range entries {
			if e.Name != name {
				kept = append(kept, e)
			}
		}
		return kept
	}
}

// readAll reads every part of an entry.
func readAll(r objstore.Reader, e *snapshot.Entry) error {
	if _, err := e.RunRow(); err != nil {
		return err
	}
	state, err := e.State()
	if err != nil {
		return err
	}
	if err := state.Verify(nil); err != nil {
		return err
	}
	if _, err := e.Events(); err != nil {
		return err
	}
	if _, err := e.VCSRevision(); err != nil {
		return err
	}
	if _, err := e.Attempts(); err != nil {
		return err
	}
	if _, err := e.Workflow(); err != nil {
		return err
	}
	var none *snapshot.FrameCache
	_, err = none.Rendered(r, e)
	return err
}

func TestAnEntryIsReadStrictly(t *testing.T) {
	t.Parallel()
	m := new(objstoretest.Memory)
	blob := func(text string) objstore.ID { return m.Add(objstore.Blob, []byte(text)) }
	tree := func(entries ...objstore.TreeEntry) objstore.ID {
		return m.Add(objstore.Tree, objstore.EncodeTree(entries))
	}
	file := func(name, text string) objstore.TreeEntry {
		return objstore.TreeEntry{Name: name, Mode: objstore.ModeFile, ID: blob(text)}
	}
	folder := func(name string, entries ...objstore.TreeEntry) objstore.TreeEntry {
		return objstore.TreeEntry{Name: name, Mode: objstore.ModeTree, ID: tree(entries...)}
	}
	row := `{"createdAtMs":1,"epoch":0,"runId":"run","status":"running","workflowName":""}` + "\n"
	for _, tc := range []struct {
		name string
		edit func([]objstore.TreeEntry) []objstore.TreeEntry
		want error
	}{
		{"as it is", without(""), nil},
		{"a row in another spelling of the same", replace("run.json", objstore.ModeFile, blob(row)), nil},
		{"what other engines keep", replace("ext", objstore.ModeTree, tree(file("x", "y"))), nil},
		{"no row", without("run.json"), objstore.ErrCorrupt},
		{"a row of another run", replace("run.json", objstore.ModeFile, blob(row[:len(row)-70]+`"runId":"other","status":"running","workflowName":""}`+"\n")), objstore.ErrCorrupt},
		{"an unknown name", replace("scores", objstore.ModeTree, tree()), snapshot.ErrNewerFormat},
		{"an executable row", replace("run.json", objstore.ModeExecutable, blob(row)), objstore.ErrCorrupt},
		{"a collection that is an empty tree", replace("nodes", objstore.ModeTree, tree()), objstore.ErrCorrupt},
		{"a collection that is an empty file", replace("nodes", objstore.ModeFile, blob("")), objstore.ErrCorrupt},
		{"output tables in a folder", replace("outputs", objstore.ModeTree, tree(folder("a"))), snapshot.ErrNewerFormat},
		{"a table without a name", replace("outputs-", objstore.ModeFile, blob("[\"a::0\",1]\n")), objstore.ErrCorrupt},
		{"a table that is not escaped", replace("outputs-a b", objstore.ModeFile, blob("[\"a::0\",1]\n")), objstore.ErrCorrupt},
		{"a table escaped without need", replace("outputs-%61", objstore.ModeFile, blob("[\"a::0\",1]\n")), objstore.ErrCorrupt},
		{"an input that is not JSON", replace("input", objstore.ModeFile, blob("{")), objstore.ErrCorrupt},
		{"an empty journal", replace("journal", objstore.ModeTree, tree()), objstore.ErrCorrupt},
		{"a collection of a newer version in the journal", replace("journal", objstore.ModeTree, tree(folder("moods", file("x", "")))), nil},
		{"a frame's own event that is not counted", without("events"), objstore.ErrCorrupt},
		{"an event that is not counted", replace("events", objstore.ModeFile, blob("{\"seq\":0,\"timestampMs\":1,\"type\":\"A\"}\n")), objstore.ErrCorrupt},
		{"a workflow without a definition", replace("workflow", objstore.ModeTree, tree()), objstore.ErrCorrupt},
		{"a workflow with more", replace("workflow", objstore.ModeTree, tree(file("definition", "d"), file("more", ""))), objstore.ErrCorrupt},
		{"no schemas", replace("workflow", objstore.ModeTree, tree(file("definition", "d"), folder("schemas"))), objstore.ErrCorrupt},
		{"a schema that is not JSON", replace("workflow", objstore.ModeTree, tree(file("definition", "d"), folder("schemas", file("t.json", "{")))), objstore.ErrCorrupt},
		{"a missing object", replace("events", objstore.ModeFile, objstore.SHA1.ID(objstore.Blob, []byte("gone"))), objstore.ErrNotFound},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := start(t, snapshot.Draft{})
			both := overlay{c.store, m}
			entry := c.forge(t, tc.edit)
			entry, err := snapshot.ReadEntry(both, entry.ID)
			require.NoError(t, err)
			err = readAll(both, entry)
			if tc.want == nil {
				assert.NoError(t, err)
			} else {
				assert.ErrorIs(t, err, tc.want)
			}
		})
	}
}

// overlay reads from two stores.
type overlay [2]objstore.Reader

func (o overlay) Get(id objstore.ID) (objstore.Kind, []byte, error) {
	if kind, data, err := o[0].Get(id); err == nil {
		return kind, data, nil
	}
	return o[1].Get(id)
}

func TestWhatOtherEnginesKeepIsCarried(t *testing.T) {
	t.Parallel()
	c := start(t, snapshot.Draft{})
	kept := c.store.Add(objstore.Blob, []byte("as it was"))
	c.tip = c.forge(t, replace("attachments", objstore.ModeFile, kept))
	next := c.append(t, snapshot.Draft{Frame: &snapshot.FrameDraft{State: many1(0, 0), Silent: true}})
	entries, err := objstore.ReadTree(c.store, next.Tree)
	require.NoError(t, err)
	part, ok := objstore.FindEntry(entries, "attachments")
	assert.True(t, ok)
	assert.Equal(t, kept, part.ID)
}

func TestACommitOfTheUsersIsNoEntry(t *testing.T) {
	t.Parallel()
	m := new(objstoretest.Memory)
	tree := m.Add(objstore.Tree, nil)
	id := m.Add(objstore.Commit, []byte("tree "+tree.String()+"\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nhello\n"))
	_, err := snapshot.ReadEntry(m, id)
	assert.ErrorIs(t, err, objstore.ErrCorrupt)
	_, err = snapshot.ReadEntry(m, tree)
	assert.ErrorIs(t, err, objstore.ErrCorrupt)
}
