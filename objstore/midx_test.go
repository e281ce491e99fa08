package objstore_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/flock"
	"github.com/git-smithers/git-smithers/objstore"
)

// midxCommands are what git maintenance does with a multi-pack-index, in its order.
var midxCommands = []string{"write", "expire", "repack"}

// pointsOfRemoval are the points of a merge from where its outcome is not known to anybody yet
// to each removal.
var pointsOfRemoval = []string{"merge-staged", "merge-after-rename", "merge-before-removes", "merge-between-removes"}

// requireWhole requires that git finds everything that refs reach.
func (r *repo) requireWhole() {
	r.t.Helper()
	r.git("rev-list", "--objects", "--all", "--quiet")
}

// at returns options whose failpoint calls f at a point.
func at(point string, f func()) func(*objstore.Options) {
	return func(o *objstore.Options) {
		o.Failpoint = func(name string) error {
			if name == point {
				f()
			}
			return nil
		}
	}
}

func TestGitWritesAndExpiresAMultiPackIndexDuringAMerge(t *testing.T) {
	t.Parallel()
	for _, point := range pointsOfRemoval {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			r, c := captured(t, 20)
			s := r.open(at(point, func() {
				for _, command := range midxCommands {
					_, _ = r.run("", "multi-pack-index", command) // while it is locked, git refuses
				}
				r.requireWhole()
			}))
			r.merge(s)
			for _, command := range midxCommands {
				r.git("multi-pack-index", command)
				r.requireWhole()
			}
			r.merge(r.open())
			c.requireAll(t, s)
			c.requireAll(t, r.open())
			r.fsck()
		})
	}
}

// A git that has read the pack directory at some point of a merge, and writes its index
// when the merge is done.
func TestAnIndexThatGitWritesTooLateLosesNothing(t *testing.T) {
	t.Parallel()
	for _, point := range append([]string{"before"}, pointsOfRemoval...) {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			r, c := captured(t, 20)
			var late []byte
			read := func() {
				if late == nil {
					late = r.lateIndex()
				}
			}
			if point == "before" {
				read()
			}
			s := r.open(at(point, read))
			r.merge(s)
			require.NoError(t, os.WriteFile(r.packPath("multi-pack-index"), late, 0o444))
			missing, err := s.MissingPacks()
			require.NoError(t, err)
			require.NotEmpty(t, missing)

			r.requireWhole()
			for _, command := range slices.Concat(midxCommands, midxCommands) {
				// git 2.55 writes no index where the last one names a pack that is gone.
				if out, err := r.run("", "multi-pack-index", command); err != nil {
					require.Regexp(t, `^error: could not load pack \d+\n$`, out, command)
				}
				r.requireWhole()
			}
			c.requireAll(t, r.open())
			needs, err := s.NeedsMerge()
			require.NoError(t, err)
			assert.True(t, needs, "to remove that index")
			r.merge(s)
			assert.NoFileExists(t, r.packPath("multi-pack-index"))
			c.requireAll(t, r.open())
			r.requireWhole()
			for _, command := range midxCommands {
				r.git("multi-pack-index", command)
				r.requireWhole()
			}
			r.fsck()
		})
	}
}

// git may read the pack directory so slowly that it meets the outcome of a merge and misses its inputs, which were
// made meanwhile. Its next index takes the inputs for the newer packs, and expire removes the outcome: as it does
// when it has read that index, whatever became of it since.
func TestAMergeDoesNotRelyOnAPackThatGitIsAboutToRemove(t *testing.T) {
	t.Parallel()
	r, c := captured(t, 20)
	inputs := r.packs(".idx")
	midx := r.packPath("multi-pack-index")
	var read []byte
	s := r.open(func(o *objstore.Options) {
		o.Failpoint = func(name string) error {
			switch name {
			case "merge-after-rename":
				for _, input := range inputs {
					require.NoError(t, os.Rename(r.packPath(input), r.packPath(input)+".unseen"))
				}
				_, _ = r.run("", "multi-pack-index", "write") // while it is locked, git refuses
				for _, input := range inputs {
					require.NoError(t, os.Rename(r.packPath(input)+".unseen", r.packPath(input)))
				}
				_, _ = r.run("", "multi-pack-index", "write")
				read, _ = os.ReadFile(midx)
			case "merge-before-removes":
				if read != nil {
					require.NoError(t, os.WriteFile(midx, read, 0o444))
					_, _ = r.run("", "multi-pack-index", "expire")
					require.NoError(t, os.Remove(midx))
				}
			}
			return nil
		}
	})
	r.merge(s)
	c.requireAll(t, r.open())
	r.requireWhole()
	r.fsck()
}

// lateIndex is the multi-pack-index that git would write of the packs that are there now.
func (r *repo) lateIndex() []byte {
	r.t.Helper()
	copied := &repo{r.t, filepath.Join(r.t.TempDir(), "copy.git")}
	require.NoError(r.t, os.CopyFS(copied.dir, os.DirFS(r.dir)))
	_ = os.Remove(copied.packPath("multi-pack-index.lock"))
	for _, name := range copied.packs("") {
		info, err := os.Stat(r.packPath(name))
		require.NoError(r.t, err)
		require.NoError(r.t, os.Chtimes(copied.packPath(name), info.ModTime(), info.ModTime()))
	}
	copied.git("multi-pack-index", "write")
	index, err := os.ReadFile(copied.packPath("multi-pack-index"))
	require.NoError(r.t, err)
	return index
}

func TestThePacksStayFewWhereGitIndexesThemAllTheTime(t *testing.T) {
	t.Parallel()
	r, c := newRepo(t), newChain(20)
	s := r.open()
	b := s.Begin()
	most := 0
	for i := range 160 {
		c.step(b)
		require.NoError(t, b.Commit(t.Context(), nil))
		most = max(most, len(r.packs(".pack")))
		if i%4 == 0 {
			r.git("multi-pack-index", "write")
		}
		needs, err := s.NeedsMerge()
		require.NoError(t, err)
		if needs {
			r.merge(s)
		}
	}
	require.NoError(t, r.moveTip(c.tip)())
	assert.Less(t, most, 50)
	c.requireAll(t, r.open())
	r.requireWhole()
	r.fsck()
}

func TestAnIndexOfFewPacksIsLeftToGit(t *testing.T) {
	t.Parallel()
	r, _ := captured(t, 16)
	r.git("multi-pack-index", "write")
	s := r.open()
	r.merge(s)
	assert.FileExists(t, r.packPath("multi-pack-index"))
	assert.Len(t, r.packs(".pack"), 16)
}

// A git that was killed leaves its lock: packs are neither removed, nor written again and again.
func TestNothingIsMergedWhileGitHasItsIndexLocked(t *testing.T) {
	t.Parallel()
	r, c := captured(t, 20)
	s := r.open()
	lock := r.packPath("multi-pack-index.lock")
	require.NoError(t, os.WriteFile(lock, nil, 0o666))
	r.merge(s)
	left := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(lock, left, left))
	for range 3 {
		r.merge(s)
	}
	assert.Len(t, r.packs(".pack"), 20)
	require.NoError(t, os.Remove(r.packPath("multi-pack-index.lock")))
	r.merge(s)
	assert.Len(t, r.packs(".pack"), 1)
	c.requireAll(t, r.open())
	r.fsck()
}

// git gc removes an index whose pack it has missed, as it does when both are made while it reads the folder.
func TestAnIndexThatGitGCTakesComesBack(t *testing.T) {
	t.Parallel()
	take := func(r *repo, packs ...string) {
		t.Helper()
		for _, name := range packs {
			require.NoError(t, os.Remove(r.packPath(strings.TrimSuffix(name, ".pack")+".idx")))
		}
	}
	t.Run("before the capture is acknowledged", func(t *testing.T) {
		t.Parallel()
		r, c := newRepo(t), newChain(20)
		s := r.open()
		b := s.Begin()
		c.step(b)
		require.NoError(t, b.Commit(t.Context(), func() error {
			defer take(r, r.packs(".pack")...)
			return r.moveTip(c.tip)()
		}))
		c.requireAll(t, r.open())
		r.requireWhole()
	})
	t.Run("of what a merge has made", func(t *testing.T) {
		t.Parallel()
		r, c := captured(t, 20)
		before := r.packs(".pack")
		r.merge(r.open(at("merge-between-removes", func() {
			for _, name := range r.packs(".pack") {
				if !slices.Contains(before, name) && slices.Contains(r.packs(".idx"), strings.TrimSuffix(name, ".pack")+".idx") {
					take(r, name)
				}
			}
		})))
		c.requireAll(t, r.open())
		r.requireWhole()
	})
	t.Run("later", func(t *testing.T) {
		t.Parallel()
		r, c := captured(t, 3)
		take(r, r.packs(".pack")[1])
		s := r.open()
		needs, err := s.NeedsMerge()
		require.NoError(t, err)
		assert.True(t, needs)
		r.merge(s)
		needs, err = s.NeedsMerge()
		require.NoError(t, err)
		assert.False(t, needs)
		c.requireAll(t, r.open())
		r.requireWhole()
		r.fsck()
	})
}

// Packs that were made while the clock was ahead wait for it; the others need not.
func TestPacksOfTheFutureKeepNoOthersFromBeingMerged(t *testing.T) {
	t.Parallel()
	r, c := captured(t, 70)
	ahead := r.packs(".pack")
	later := time.Now().Add(3 * time.Hour)
	for _, name := range ahead {
		require.NoError(t, os.Chtimes(r.packPath(name), later, later))
	}
	s := r.open()
	b := s.Begin()
	for range 20 {
		c.step(b)
		require.NoError(t, b.Commit(t.Context(), r.moveTip(c.tip)))
	}
	r.merge(s)
	assert.Len(t, r.packs(".pack"), len(ahead)+1)
	due, err := s.MergeDue()
	require.NoError(t, err)
	assert.False(t, due)
	c.requireAll(t, r.open())
}

// A process that merges may be stopped, and another one ends all the same.
func TestSettlingDoesNotWaitForMergesForEver(t *testing.T) {
	t.Parallel()
	r, _ := captured(t, 40)
	r.git("multi-pack-index", "write")
	s := r.open()
	r.merge(s)
	merging := flock.New(filepath.Join(r.options().TempDir, "merge.lock"))
	locked, err := merging.TryLock()
	require.NoError(t, err)
	require.True(t, locked)
	require.NoError(t, s.Settle(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.Settle(ctx), context.Canceled)
	require.NoError(t, merging.Close())
	require.NoError(t, s.Settle(t.Context()))
}

func TestTheLockOfAMergeThatDiedIsRemoved(t *testing.T) {
	t.Parallel()
	r, _ := captured(t, 3)
	lock := r.packPath("multi-pack-index.lock")
	require.NoError(t, os.Link(filepath.Join(r.options().TempDir, "empty"), lock))
	s := r.open()
	needs, err := s.NeedsMerge()
	require.NoError(t, err)
	assert.True(t, needs)
	r.merge(s)
	assert.NoFileExists(t, lock)
	r.git("multi-pack-index", "write")
}

// git dates a pack anew when it wants to write an object that the pack has. Of what is in
// both it would then take the copy in the older pack.
func TestAPackThatGitDatesAnewDuringAMergeStays(t *testing.T) {
	t.Parallel()
	r, c := captured(t, 20)
	touched := r.packs(".pack")[3]
	r.merge(r.open(at("merge-after-rename", func() {
		now := time.Now()
		require.NoError(t, os.Chtimes(r.packPath(touched), now, now))
	})))
	after := r.packs(".pack")
	assert.Len(t, after, 2)
	assert.Contains(t, after, touched)
	c.requireAll(t, r.open())
}

func TestAnIndexThatNamesMissingPacksIsMovedAway(t *testing.T) {
	t.Parallel()
	r, c := captured(t, 3)
	r.git("multi-pack-index", "write")
	s := r.open()
	missing, err := s.MissingPacks()
	require.NoError(t, err)
	assert.Empty(t, missing)

	// What earlier versions have left: the objects are in one pack, and by the index in others.
	gone := r.packs(".pack")
	r.git("-c", "repack.writeBitmaps=false", "repack", "-adq")
	whole := strings.TrimSuffix(r.packs(".pack")[0], ".pack")
	index, err := os.ReadFile(r.packPath(whole + ".idx"))
	require.NoError(t, err)
	layers := r.packPath("multi-pack-index.d")
	require.NoError(t, os.Mkdir(layers, 0o777))
	chain := filepath.Join(layers, "multi-pack-index-chain")
	require.NoError(t, os.WriteFile(chain, []byte("ab\n"), 0o666))
	layer := filepath.Join(layers, "multi-pack-index-ab.midx")
	require.NoError(t, os.WriteFile(layer, index, 0o666))
	missing, err = s.MissingPacks()
	require.NoError(t, err)
	assert.Empty(t, missing, "one that cannot be read is a newer git's")
	require.NoError(t, os.WriteFile(layer, namesOnly(gone), 0o666))
	missing, err = s.MissingPacks()
	require.NoError(t, err)
	assert.Len(t, missing, 3)

	aside := filepath.Join(r.dir, "smithers", "damaged")
	require.NoError(t, s.MendPacks(t.Context(), aside))
	for _, name := range []string{chain, layer} {
		assert.NoFileExists(t, name)
		assert.FileExists(t, filepath.Join(aside, filepath.Base(name)))
	}
	c.requireAll(t, r.open())
	r.fsck()
}

// namesOnly is a multi-pack-index of packs, as far as their names go.
func namesOnly(packs []string) []byte {
	var names strings.Builder
	for _, name := range packs {
		names.WriteString(strings.TrimSuffix(name, ".pack") + ".idx\x00")
	}
	const table = 12 + 2*12
	index := []byte("MIDX\x01\x01\x01\x00\x00\x00\x00")
	index = append(index, byte(len(packs)))
	index = append(index, "PNAM\x00\x00\x00\x00\x00\x00\x00"...)
	index = append(index, table)
	index = append(index, "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"...)
	index = append(index, byte((table+names.Len())>>8), byte(table+names.Len()))
	return append(index, names.String()...)
}
