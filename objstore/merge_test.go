package objstore_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/objstore"
)

// captured is a repository with a chain of so many entries, each in a pack.
func captured(t *testing.T, frames int) (*repo, *chain) {
	t.Helper()
	r, c := newRepo(t), newChain(20)
	s := r.open()
	b := s.Begin()
	for range frames {
		c.step(b)
		require.NoError(t, b.Commit(t.Context(), nil))
	}
	require.NoError(t, r.moveTip(c.tip)())
	require.NoError(t, s.Close())
	return r, c
}

func (r *repo) merge(s *objstore.Store) objstore.MergeResult {
	r.t.Helper()
	result, err := s.Merge(r.t.Context())
	require.NoError(r.t, err)
	return result
}

func TestMergeMakesOnePackOfSmallOnes(t *testing.T) {
	t.Parallel()
	r, c := captured(t, 20)
	s := r.open()
	needs, err := s.NeedsMerge()
	require.NoError(t, err)
	assert.True(t, needs)

	result := r.merge(s)
	assert.Equal(t, 20, result.PacksBefore)
	assert.Equal(t, 1, result.PacksAfter)
	assert.Equal(t, len(c.written), result.Objects, "each object once")
	assert.Less(t, result.BytesAfter, result.BytesBefore/2, "older versions are deltas")
	assert.Len(t, r.packs(".pack", ".idx"), 2)
	assert.Len(t, r.packs(""), 2, "nothing else is left")

	c.requireAll(t, s)
	c.requireAll(t, r.open())
	r.fsck()
	r.git("verify-pack", r.packPath(r.packs(".idx")[0]))
	needs, err = s.NeedsMerge()
	require.NoError(t, err)
	assert.False(t, needs)
	assert.Equal(t, objstore.MergeResult{PacksBefore: 1, PacksAfter: 1}, r.merge(s))
}

func TestAMergeIsDueForPacksOfOursAlone(t *testing.T) {
	t.Parallel()
	r, _ := captured(t, 20)
	due, err := r.open().MergeDue()
	require.NoError(t, err)
	assert.True(t, due)

	others := newRepo(t)
	for i := range 20 {
		blob, err := others.run(strconv.Itoa(i), "hash-object", "-w", "--stdin")
		require.NoError(t, err)
		_, err = others.run(blob, "pack-objects", "-q", filepath.Join("objects", "pack", "pack"))
		require.NoError(t, err)
	}
	s := others.open()
	due, err = s.MergeDue()
	require.NoError(t, err)
	assert.False(t, due)
	assert.Zero(t, others.merge(s).Objects)
	assert.Len(t, others.packs(".pack"), 20)
}

func TestTheNewestVersionIsNoDelta(t *testing.T) {
	t.Parallel()
	r, c := captured(t, 20)
	r.merge(r.open())
	out := r.git("verify-pack", "-v", r.packPath(r.packs(".idx")[0]))
	deltas := 0
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) == 7 {
			deltas++
		}
		if fields[0] == c.tip.String() || fields[0] == r.git("rev-parse", c.tip.String()+":run.json") {
			assert.Len(t, fields, 5, line)
		}
	}
	assert.Greater(t, deltas, 40)
}

func TestAFewPacksAreLeftAlone(t *testing.T) {
	t.Parallel()
	r, _ := captured(t, 15)
	s := r.open()
	needs, err := s.NeedsMerge()
	require.NoError(t, err)
	assert.False(t, needs)
	assert.Zero(t, r.merge(s).Objects)
	assert.Len(t, r.packs(".pack"), 15)
}

func TestThePacksStayFewHoweverManyCapturesThereAre(t *testing.T) {
	t.Parallel()
	r, c := newRepo(t), newChain(20)
	s := r.open()
	b := s.Begin()
	const frames = 320
	most, written, rewritten := 0, 0, 0
	for range frames {
		before := len(c.written)
		c.step(b)
		require.NoError(t, b.Commit(t.Context(), nil))
		written += len(c.written) - before
		most = max(most, len(r.packs(".pack")))
		rewritten += r.merge(s).Objects
	}
	require.NoError(t, r.moveTip(c.tip)())
	assert.LessOrEqual(t, most, 30)
	assert.LessOrEqual(t, rewritten, 6*written, "an object is rewritten a few times, not once for every merge")
	c.requireAll(t, r.open())
	r.fsck()
	for _, idx := range r.packs(".idx") {
		out := r.git("verify-pack", "-s", "-v", r.packPath(idx))
		assert.NotRegexp(t, `chain length = (5[1-9]|[6-9]\d|\d{3,})`, out)
	}
}

func TestWhatMergeLeavesAlone(t *testing.T) {
	t.Parallel()
	beside := func(suffix string) func(*testing.T, *repo) {
		return func(t *testing.T, r *repo) {
			t.Helper()
			name := strings.TrimSuffix(r.packs(".pack")[0], ".pack") + suffix
			require.NoError(t, os.WriteFile(r.packPath(name), nil, 0o666))
		}
	}
	for _, test := range []struct {
		name    string
		prepare func(*testing.T, *repo)
		stay    int // packs as they are, of 20; the others become one
	}{
		{"a pack with a .keep file", beside(".keep"), 1},
		{"a pack with a .promisor file", beside(".promisor"), 1},
		{"a pack with a .mtimes file", beside(".mtimes"), 1},
		{"a pack with a .bitmap file", beside(".bitmap"), 1},
		{"a pack with a .rev file is merged", beside(".rev"), 0},
		{"packs in a multi-pack-index", func(t *testing.T, r *repo) {
			t.Helper()
			names := strings.ReplaceAll(strings.Join(r.packs(".idx")[:3], "\n"), ".pack", ".idx")
			out, err := r.run(names+"\n", "multi-pack-index", "write", "--stdin-packs")
			require.NoError(t, err, out)
		}, 3},
		{"all packs, beside a multi-pack-index that cannot be read", func(t *testing.T, r *repo) {
			t.Helper()
			require.NoError(t, os.WriteFile(r.packPath("multi-pack-index"), []byte("MIDX\x02"), 0o666))
		}, 20},
		{"a pack of git's making", func(t *testing.T, r *repo) {
			t.Helper()
			out, err := r.run("blob\ndata 1\nx\ncommit refs/heads/master\ncommitter A <a@localhost.invalid> 1700000000 +0000\ndata 0\n", "-c", "fastimport.unpackLimit=0", "fast-import", "--quiet")
			require.NoError(t, err, out)
		}, 1},
		{"a damaged pack", func(t *testing.T, r *repo) {
			t.Helper()
			damage(t, r, r.packs(".pack")[3], func(b []byte) []byte { return b[:len(b)-1] })
		}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r, _ := captured(t, 20)
			test.prepare(t, r)
			before := r.packs(".pack")
			r.merge(r.open())
			after := r.packs(".pack")
			stayed := slices.DeleteFunc(slices.Clone(before), func(name string) bool { return !slices.Contains(after, name) })
			assert.Len(t, stayed, test.stay)
			if test.stay < 20 {
				assert.Len(t, after, test.stay+1)
			}
		})
	}
}

func TestALargePackIsLeftAlone(t *testing.T) {
	t.Parallel()
	r, _ := captured(t, 20)
	info, err := os.Stat(r.packPath(r.packs(".pack")[0]))
	require.NoError(t, err)
	s := r.open(func(o *objstore.Options) { o.MaxMergePack = info.Size() / 4 })
	r.merge(s)
	assert.Len(t, r.packs(".pack"), 20)
}

func TestAMergeNeverRemovesItsOwnOutput(t *testing.T) {
	t.Parallel()
	// A pack that holds all objects of the others becomes, merged with them, itself.
	r, c := captured(t, 16)
	s := r.open()
	r.merge(s)
	for range 3 {
		whole := r.packs(".pack")
		require.Len(t, whole, 1)
		b := s.Begin()
		for id := range c.written {
			kind, data, err := s.Get(id)
			require.NoError(t, err)
			if kind == objstore.Commit {
				b.Add(kind, data)
				require.NoError(t, b.Commit(t.Context(), nil))
			}
		}
		require.Len(t, r.packs(".pack"), 17)
		r.merge(s)
		assert.Len(t, r.packs(".pack"), 1)
		c.requireAll(t, r.open())
		r.fsck()
	}
}

func TestMergeAfterGC(t *testing.T) {
	t.Parallel()
	r, c := captured(t, 20)
	s := r.open()
	c.requireAll(t, s)
	for range 3 {
		r.git("gc", "-q", "--prune=now", "--aggressive")
		r.merge(s)
		c.requireAll(t, r.open())
		b := s.Begin()
		for range 16 {
			c.step(b)
			require.NoError(t, b.Commit(t.Context(), nil))
		}
		require.NoError(t, r.moveTip(c.tip)())
		r.merge(s)
		c.requireAll(t, s)
		c.requireAll(t, r.open())
		r.fsck()
	}
}

func TestInputsThatVanishDuringAMerge(t *testing.T) {
	t.Parallel()
	r, c := captured(t, 20)
	r.git("config", "repack.writeBitmaps", "false")
	s := r.open(func(o *objstore.Options) {
		o.Failpoint = func(name string) error {
			if name == "merge-after-rename" || name == "merge-between-removes" {
				r.git("repack", "-adq")
			}
			return nil
		}
	})
	r.merge(s)
	c.requireAll(t, s)
	c.requireAll(t, r.open())
	r.fsck()
}

func TestValuesThatChangeBackAndForthMerge(t *testing.T) {
	t.Parallel()
	r, c := newRepo(t), newChain(1)
	s := r.open()
	b := s.Begin()
	for i := range 40 {
		c.frames = i
		c.step(b)
		c.pages[0] = pageOf(0, i%2)
		require.NoError(t, b.Commit(t.Context(), nil))
	}
	require.NoError(t, r.moveTip(c.tip)())
	r.merge(s)
	c.requireAll(t, r.open())
	r.fsck()
}

func TestAMergeEndsThoughOthersGoOnWriting(t *testing.T) {
	t.Parallel()
	r, c := captured(t, 20)
	writer := r.open()
	b := writer.Begin()
	lots := 0
	s := r.open(func(o *objstore.Options) {
		o.Failpoint = func(name string) error {
			if name != "merge-staged" {
				return nil
			}
			lots++
			for range 20 {
				c.step(b)
				if err := b.Commit(t.Context(), nil); err != nil {
					return err
				}
			}
			return nil
		}
	})
	r.merge(s)
	assert.Less(t, lots, 10, "one for the packs of the beginning, and a few for those that came meanwhile")
	require.NoError(t, r.moveTip(c.tip)())
	c.requireAll(t, r.open())
	r.fsck()
}

func TestCapturesAndReadsGoOnDuringMerges(t *testing.T) {
	t.Parallel()
	r, c := newRepo(t), newChain(10)
	s := r.open(func(o *objstore.Options) { o.CacheBytes = 1 })
	stop := make(chan struct{})
	var wait sync.WaitGroup
	for _, merger := range []*objstore.Store{s, r.open()} {
		wait.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				_, err := merger.Merge(t.Context())
				if !assert.NoError(t, err) {
					return
				}
			}
		})
	}
	b := s.Begin()
	for i := range 150 {
		c.step(b)
		require.NoError(t, b.Commit(t.Context(), nil))
		if i%10 == 0 {
			c.requireAll(t, s)
		}
	}
	close(stop)
	wait.Wait()
	require.NoError(t, r.moveTip(c.tip)())
	c.requireAll(t, r.open())
	r.fsck()
}
