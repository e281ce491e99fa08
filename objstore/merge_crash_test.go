package objstore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/flock"
	"github.com/git-smithers/git-smithers/objstore"
)

func TestAMergeThatDiesHasLostNothing(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"merge-after-rename", "merge-between-removes"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			r, c := captured(t, 20)
			dies := errors.New("dies here")
			s := r.open(func(o *objstore.Options) {
				o.Failpoint = func(name string) error {
					if name == point {
						return dies
					}
					return nil
				}
			})
			_, err := s.Merge(t.Context())
			require.ErrorIs(t, err, dies)
			c.requireAll(t, s)
			c.requireAll(t, r.open())
			r.fsck()
			r.merge(r.open())
			assert.LessOrEqual(t, len(r.packs(".pack")), 2, "the inputs that were left become one")
			c.requireAll(t, r.open())
			r.fsck()
		})
	}
}

func TestOneProcessMergesAtATime(t *testing.T) {
	t.Parallel()
	r, _ := captured(t, 20)
	require.NoError(t, os.MkdirAll(r.options().TempDir, 0o777))
	lock := flock.New(filepath.Join(r.options().TempDir, "merge.lock"))
	locked, err := lock.TryLock()
	require.NoError(t, err)
	require.True(t, locked)
	assert.Equal(t, objstore.MergeResult{}, r.merge(r.open()))
	require.NoError(t, lock.Close())
	assert.Equal(t, 1, r.merge(r.open()).PacksAfter)
}

func TestAMergeThatIsCancelledChangesNothing(t *testing.T) {
	t.Parallel()
	r, _ := captured(t, 20)
	before := r.packs("")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := r.open().Merge(ctx)
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, before, r.packs(""))
	leftovers, err := filepath.Glob(filepath.Join(r.options().TempDir, "unfinished-*"))
	require.NoError(t, err)
	assert.Empty(t, leftovers)
}

func TestADamagedInputIsNotMerged(t *testing.T) {
	t.Parallel()
	r, _ := captured(t, 20)
	before := r.packs("")
	damage(t, r, r.packs(".pack")[5], func(b []byte) []byte { b[len(b)-40] ^= 1; return b })
	_, err := r.open().Merge(t.Context())
	require.ErrorIs(t, err, objstore.ErrCorrupt)
	assert.Equal(t, before, r.packs(""))
}

func TestCloseWaitsForAMerge(t *testing.T) {
	t.Parallel()
	r, c := captured(t, 20)
	reached, goOn := make(chan struct{}), make(chan struct{})
	s := r.open(func(o *objstore.Options) {
		o.Failpoint = func(name string) error {
			if name == "merge-after-rename" {
				close(reached)
				<-goOn
			}
			return nil
		}
	})
	merged := false
	var wait sync.WaitGroup
	wait.Go(func() {
		_, err := s.Merge(t.Context())
		assert.NoError(t, err)
		merged = true
	})
	<-reached
	close(goOn)
	require.NoError(t, s.Close())
	assert.Len(t, r.packs(".pack"), 1)
	wait.Wait()
	assert.True(t, merged)
	c.requireAll(t, r.open())
}

func TestWhatADeadProcessLeftIsSwept(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		point string
		age   time.Duration
		gone  bool // the .keep file, and a pack without an index
	}{
		{"long ago, between pack and index", "after-pack-rename", 25 * time.Hour, true},
		{"long ago, before the refs", "before-refs", 25 * time.Hour, true},
		{"just now, it may be alive", "before-refs", time.Hour, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r, c := captured(t, 2)
			before := r.packs("")
			// A process that is killed keeps its .keep file, as this link does.
			s := r.open(func(o *objstore.Options) {
				o.Failpoint = func(name string) error {
					if name == test.point {
						for _, keep := range r.packs(".keep") {
							require.NoError(t, os.Link(r.packPath(keep), filepath.Join(r.dir, keep)))
						}
						return errors.New("killed")
					}
					return nil
				}
			})
			b := s.Begin()
			c.step(b)
			require.Error(t, b.Commit(t.Context(), nil))
			keeps, err := filepath.Glob(filepath.Join(r.dir, "*.keep"))
			require.NoError(t, err)
			require.Len(t, keeps, 1)
			keep := filepath.Base(keeps[0])
			require.NoError(t, os.Rename(keeps[0], r.packPath(keep)))
			made := time.Now().Add(-test.age)
			require.NoError(t, os.Chtimes(r.packPath(strings.TrimSuffix(keep, ".keep")+".pack"), made, made))

			r.merge(r.open())
			assert.Equal(t, !test.gone, slices.Contains(r.packs(".keep"), keep))
			if test.point == "after-pack-rename" {
				assert.Equal(t, before, r.packs(""))
			}
		})
	}
}

func TestAPackThatHasLostItsIndexGetsItAgain(t *testing.T) {
	t.Parallel()
	r, c := captured(t, 2)
	name := strings.TrimSuffix(r.packs(".pack")[0], ".pack")
	// Whoever has read it before has it open.
	s := r.open()
	c.requireAll(t, s)
	index, err := os.ReadFile(r.packPath(name + ".idx"))
	require.NoError(t, err)
	require.NoError(t, os.Remove(r.packPath(name+".idx")))
	old := time.Now().Add(-100 * time.Hour)
	require.NoError(t, os.Chtimes(r.packPath(name+".pack"), old, old))
	r.merge(s)
	c.requireAll(t, s)
	c.requireAll(t, r.open())
	again, err := os.ReadFile(r.packPath(name + ".idx"))
	require.NoError(t, err)
	assert.Equal(t, index, again)
	r.fsck()
}

func TestAPackWithoutAnIndexIsSweptWhenItsObjectsAreElsewhere(t *testing.T) {
	t.Parallel()
	r, c := captured(t, 20)
	names := r.packs(".pack")
	copies := make(map[string][]byte)
	for _, name := range names {
		data, err := os.ReadFile(r.packPath(name))
		require.NoError(t, err)
		copies[name] = data
	}
	r.merge(r.open())
	old := time.Now().Add(-100 * time.Hour)
	for name, data := range copies { // a merge that died had removed the index, and not yet the pack
		require.NoError(t, os.WriteFile(r.packPath(name), data, 0o444))
		require.NoError(t, os.Chtimes(r.packPath(name), old, old))
	}
	r.merge(r.open())
	assert.Len(t, r.packs(".pack"), 1)
	c.requireAll(t, r.open())
}

func TestADamagedPackWithoutAnIndexIsLeft(t *testing.T) {
	t.Parallel()
	r, _ := captured(t, 2)
	name := strings.TrimSuffix(r.packs(".pack")[0], ".pack")
	require.NoError(t, os.Remove(r.packPath(name+".idx")))
	data, err := os.ReadFile(r.packPath(name + ".pack"))
	require.NoError(t, err)
	require.NoError(t, os.Chmod(r.packPath(name+".pack"), 0o644))
	require.NoError(t, os.WriteFile(r.packPath(name+".pack"), data[:len(data)-5], 0o644))
	old := time.Now().Add(-100 * time.Hour)
	require.NoError(t, os.Chtimes(r.packPath(name+".pack"), old, old))
	r.merge(r.open())
	assert.FileExists(t, r.packPath(name+".pack"))
	assert.NoFileExists(t, r.packPath(name+".idx"))
}

func TestAKeepFileOfTheUsersIsNotSwept(t *testing.T) {
	t.Parallel()
	r, _ := captured(t, 2)
	name := r.packs(".pack")[0]
	keep := r.packPath(strings.TrimSuffix(name, ".pack") + ".keep")
	require.NoError(t, os.WriteFile(keep, nil, 0o666))
	old := time.Now().Add(-100 * time.Hour)
	require.NoError(t, os.Chtimes(r.packPath(name), old, old))
	r.merge(r.open())
	assert.FileExists(t, keep)
}
