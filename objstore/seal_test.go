package objstore_test

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/objstore"
)

// sealing is a store with the entries of two runs that took turns, each entry a pack.
type sealing struct {
	*repo

	store        *objstore.Store
	ours, others *chain
	commits      []objstore.ID // of ours
}

func newSealing(t *testing.T, frames int) *sealing {
	t.Helper()
	r := newRepo(t)
	s := &sealing{repo: r, store: r.open(), ours: newChain(20), others: newChain(30)}
	for range frames {
		s.step(s.ours)
		s.step(s.others)
	}
	return s
}

// step writes an entry of a run as a pack.
func (s *sealing) step(c *chain) {
	s.t.Helper()
	b := s.store.Begin()
	c.step(b)
	require.NoError(s.t, b.Commit(s.t.Context(), nil))
	if c == s.ours {
		s.commits = append(s.commits, c.tip)
	}
}

func (s *sealing) seal(spare bool) objstore.MergeResult {
	s.t.Helper()
	result, err := s.store.Seal(s.t.Context(), s.commits, spare)
	require.NoError(s.t, err)
	return result
}

// check requires that everything is there, also for git.
func (s *sealing) check() {
	s.t.Helper()
	for _, c := range []*chain{s.ours, s.others} {
		c.requireAll(s.t, s.store)
		c.requireAll(s.t, s.open())
	}
	s.git("update-ref", tipRef, s.ours.tip.String())
	s.git("update-ref", tipRef+"-others", s.others.tip.String())
	s.fsck()
}

func TestSealMakesOnePackOfARunsPacksAndLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	s := newSealing(t, 8)
	before := s.packs(".pack")
	result := s.seal(true)
	assert.Equal(t, len(s.ours.written), result.Objects, "each object once")
	assert.Less(t, result.BytesAfter, result.BytesBefore*2/3, "older versions are deltas")
	after := s.packs(".pack")
	assert.Len(t, after, 8+1)
	stayed := slices.DeleteFunc(after, func(name string) bool { return !slices.Contains(before, name) })
	assert.Len(t, stayed, 8)
	s.check()
}

func TestWhatIsSealedIsNotWrittenAgain(t *testing.T) {
	t.Parallel()
	s := newSealing(t, 8)
	s.seal(false)
	before := s.packs(".pack")
	assert.Zero(t, s.seal(false).Objects)
	assert.Equal(t, before, s.packs(".pack"))
	s.check()
}

// A pack of others, in which one entry of the run is.
func TestASealThatSparesLeavesAloneWhatIsMostlyOthers(t *testing.T) {
	t.Parallel()
	s := newSealing(t, 10)
	own := len(s.ours.written)
	b := s.store.Begin()
	for range 300 {
		s.others.step(b)
	}
	s.ours.step(b)
	s.commits = append(s.commits, s.ours.tip)
	require.NoError(t, b.Commit(t.Context(), nil))

	assert.Equal(t, own, s.seal(true).Objects)
	assert.Greater(t, s.seal(false).Objects, 1500, "one that does not spare takes it")
	s.check()
}

// A run of which nearly everything is in one pack, and then some entries more.
func TestASealThatSparesDoesNotWriteALongRunAnewForSomeEntries(t *testing.T) {
	t.Parallel()
	s := newSealing(t, 0)
	s.ours = newChain(1)
	b := s.store.Begin()
	for range 400 {
		s.ours.step(b)
		s.commits = append(s.commits, s.ours.tip)
	}
	require.NoError(t, b.Commit(t.Context(), nil))
	for range 10 {
		s.step(s.ours)
	}
	s.step(s.others)

	result := s.seal(true)
	assert.Positive(t, result.Objects)
	assert.Less(t, result.Objects, 100)
	assert.Equal(t, len(s.ours.written), s.seal(false).Objects)
	s.check()
}

func TestASealThatSparesLeavesAShortRunToMerges(t *testing.T) {
	t.Parallel()
	s := newSealing(t, 7)
	assert.Zero(t, s.seal(true).Objects)
	assert.Equal(t, len(s.ours.written), s.seal(false).Objects)
	s.check()
}

// The pack that git made of all of it is known as ours, by its first object, and
// protected by being in a multi-pack-index.
func TestSealLeavesAloneWhatMergeDoes(t *testing.T) {
	t.Parallel()
	s := newSealing(t, 4)
	s.git("update-ref", tipRef, s.ours.tip.String())
	s.git("update-ref", tipRef+"-others", s.others.tip.String())
	s.git("-c", "repack.writeBitmaps=false", "repack", "-adq")
	s.git("multi-pack-index", "write")
	s.step(s.ours)
	before := s.packs(".pack")
	assert.Zero(t, s.seal(false).Objects)
	assert.Equal(t, before, s.packs(".pack"))
	s.check()
}

// Many entries in one pack without deltas, as an older version wrote an import.
func TestSealingAPackOfManyEntriesWithoutDeltasMakesThem(t *testing.T) {
	r := newRepo(t)
	s := &sealing{repo: r, store: r.open(), ours: newChain(20), others: newChain(30)}
	for range 40 {
		s.step(s.ours)
	}
	s.git("update-ref", tipRef, s.ours.tip.String())
	s.git("-c", "repack.writeBitmaps=false", "repack", "-adFq", "--window=0")
	old := time.Now().Add(-time.Minute)
	for _, name := range s.packs(".pack") {
		require.NoError(t, os.Chtimes(s.packPath(name), old, old))
	}
	s.step(s.others)

	sealed := s.seal(false)
	assert.Less(t, sealed.BytesAfter, sealed.BytesBefore/2)
	assert.Zero(t, s.seal(false).Objects, "sealed again")
	s.check()
}

// A pack of many entries, as an import writes it, needs no seal.
func TestABatchOfManyEntriesMakesDeltas(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	s := &sealing{repo: r, store: r.open(), ours: newChain(20), others: newChain(30)}
	s.step(s.others)
	b := s.store.Begin()
	for range 100 {
		s.ours.step(b)
		s.commits = append(s.commits, s.ours.tip)
	}
	require.NoError(t, b.Commit(t.Context(), nil))
	assert.Zero(t, s.seal(false).Objects)
	s.check()
	args := []string{"verify-pack", "-s"}
	for _, name := range s.packs(".idx") {
		args = append(args, s.packPath(name))
	}
	chains := s.git(args...)
	assert.Contains(t, chains, "chain length = 48: ")
	assert.NotContains(t, chains, "chain length = 49: ")
}
