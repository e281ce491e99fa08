package share

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// chains makes entries in memory.
type chains struct {
	*objstoretest.Memory

	t *testing.T
}

// entries appends so many entries of a run to one, and returns their ids, oldest first.
func (c chains) entries(run, subject string, after objstore.ID, n int) []objstore.ID {
	c.t.Helper()
	tree := c.Add(objstore.Tree, nil)
	ids := make([]objstore.ID, n)
	for i := range ids {
		ids[i] = c.Add(objstore.Commit, snapshot.EncodeHeader(snapshot.Header{
			Run: run, Frame: snapshot.NoFrame, Subject: fmt.Sprintf("%s %d", subject, i), Parent: after, Tree: tree,
		}))
		after = ids[i]
	}
	return ids
}

func TestRelationsOfTwoTips(t *testing.T) {
	t.Parallel()
	c := chains{new(objstoretest.Memory), t}
	past := c.entries("run", "common", objstore.ID{}, 5)
	last := past[4]
	mine, theirs := c.entries("run", "mine", last, 3), c.entries("run", "theirs", last, 9)
	other := c.entries("run", "other", objstore.ID{}, 4)
	parent := c.entries("parent", "parent", objstore.ID{}, 3)
	fork, again := c.entries("fork", "first", parent[2], 2), c.entries("fork", "second", parent[2], 2)

	for name, tt := range map[string]struct {
		local, remote objstore.ID
		want          relation
	}{
		"the same":            {last, last, relation{kinship: same, common: last}},
		"one that went on":    {mine[2], last, relation{kinship: ahead, common: last, ahead: 3}},
		"from the very first": {mine[2], past[0], relation{kinship: ahead, common: past[0], ahead: 7}},
		"one that is behind":  {past[1], theirs[8], relation{kinship: behind, common: past[1], behind: 12}},
		"both went on":        {mine[0], theirs[8], relation{kinship: diverged, common: last, ahead: 1, behind: 9}},
		"both, the other way": {theirs[8], mine[0], relation{kinship: diverged, common: last, ahead: 9, behind: 1}},
		"nothing in common":   {last, other[3], relation{kinship: unrelated, ahead: 5, behind: 4}},
		"forks of one frame":  {fork[1], again[1], relation{kinship: unrelated, ahead: 2, behind: 2}},
		"a run and its fork":  {parent[2], fork[1], relation{kinship: unrelated, ahead: 3, behind: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := relate(c, tt.local, tt.remote)
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
		})
	}
}

// counting counts what is read.
type counting struct {
	objstore.Reader

	reads int
}

func (c *counting) Get(id objstore.ID) (objstore.Kind, []byte, error) {
	c.reads++
	return c.Reader.Get(id)
}

func TestRelatingReadsWhatIsNewAndNotTheHistoryBehindIt(t *testing.T) {
	t.Parallel()
	c := chains{new(objstoretest.Memory), t}
	past := c.entries("run", "common", objstore.ID{}, 1000)
	mine, theirs := c.entries("run", "mine", past[999], 3), c.entries("run", "theirs", past[999], 4)
	r := &counting{Reader: c}

	_, err := relate(r, mine[2], theirs[3])

	require.NoError(t, err)
	assert.LessOrEqual(t, r.reads, 2*(4+1))
}

func TestWhatIsNoEntryIsRelatedToNothing(t *testing.T) {
	t.Parallel()
	c := chains{new(objstoretest.Memory), t}
	tip := c.entries("run", "mine", objstore.ID{}, 1)[0]

	_, err := relate(c, tip, c.Add(objstore.Blob, []byte("no commit")))
	require.Error(t, err)
	_, err = relate(c, tip, objstore.SHA1.ID(objstore.Blob, []byte("not here")))
	require.ErrorIs(t, err, objstore.ErrNotFound)
}
