package objstore_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/objstore"
)

// twoChains is a repository with two chains of entries in one pack, in which objects are
// deltas of the other chain's, and what only the first one has.
func twoChains(t *testing.T) (r *repo, first, second *chain, only map[objstore.ID]struct{}) {
	t.Helper()
	r, first = captured(t, 20)
	s := r.open()
	second = newChain(20)
	second.frames = 40 // so that its pages are others
	b := s.Begin()
	for range 20 {
		second.step(b)
		require.NoError(t, b.Commit(t.Context(), nil))
	}
	r.git("update-ref", "refs/smithers/_tip/second", second.tip.String())
	r.merge(s)
	require.NoError(t, s.Close())
	only = make(map[objstore.ID]struct{})
	for id := range first.written {
		if _, both := second.written[id]; !both {
			only[id] = struct{}{}
		}
	}
	require.NotEmpty(t, only)
	return r, first, second, only
}

// dropping drops ids, whatever needs them.
func dropping(ids map[objstore.ID]struct{}) objstore.DropRequest {
	return objstore.DropRequest{
		Choose: func(context.Context) (map[objstore.ID]struct{}, error) { return ids, nil },
		Still:  func(context.Context, map[objstore.ID]struct{}) (bool, error) { return true, nil },
	}
}

// letFirstGo deletes the ref of the first chain.
func (r *repo) letFirstGo(first *chain) {
	r.t.Helper()
	for ref := range strings.FieldsSeq(r.git("for-each-ref", "--format=%(refname)", "--points-at="+first.tip.String())) {
		r.git("update-ref", "-d", ref)
	}
}

func TestADropTakesItsObjectsAndNoOthers(t *testing.T) {
	t.Parallel()
	r, first, second, only := twoChains(t)
	s := r.open()
	result, err := s.Drop(t.Context(), dropping(only))
	require.NoError(t, err)
	assert.Equal(t, len(only), result.Objects)
	assert.Zero(t, result.Left)
	assert.Less(t, result.BytesAfter, result.BytesBefore)
	for _, store := range []*objstore.Store{s, r.open()} {
		second.requireAll(t, store)
	}
	for id := range only {
		_, _, err := r.open().Get(id)
		require.ErrorIs(t, err, objstore.ErrNotFound)
		break
	}
	r.letFirstGo(first)
	r.fsck()
	for _, index := range r.packs(".idx") {
		r.git("verify-pack", r.packPath(index))
	}
	again, err := s.Drop(t.Context(), dropping(only))
	require.NoError(t, err)
	assert.Equal(t, objstore.DropResult{}, again, "there is nothing left to drop")
}

func TestAPackOfNothingElseGoesAway(t *testing.T) {
	t.Parallel()
	r, first := captured(t, 3)
	all := make(map[objstore.ID]struct{})
	for id := range first.written {
		all[id] = struct{}{}
	}
	result, err := r.open().Drop(t.Context(), dropping(all))
	require.NoError(t, err)
	assert.Zero(t, result.BytesAfter)
	assert.Empty(t, r.packs(".pack", ".idx"))
	r.letFirstGo(first)
	r.fsck()
}

func TestADropLeavesAloneWhatIsNotItsBusiness(t *testing.T) {
	t.Parallel()
	for name, protect := range map[string]func(r *repo){
		"a pack that is kept":             func(r *repo) { r.write(r.packPath(r.packs(".pack")[0]), ".keep") },
		"a pack of a partial clone":       func(r *repo) { r.write(r.packPath(r.packs(".pack")[0]), ".promisor") },
		"a pack in a multi-pack-index":    func(r *repo) { r.git("multi-pack-index", "write") },
		"a pack that begins with no ours": func(r *repo) { r.foreignPack() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, first, second, only := twoChains(t)
			protect(r)
			before := r.packs(".pack", ".idx")
			result, err := r.open().Drop(t.Context(), dropping(only))
			require.NoError(t, err)
			assert.Equal(t, objstore.DropResult{}, result)
			assert.Equal(t, before, r.packs(".pack", ".idx"))
			first.requireAll(t, r.open())
			second.requireAll(t, r.open())
		})
	}
}

// write makes a file beside a pack.
func (r *repo) write(pack, suffix string) {
	r.t.Helper()
	require.NoError(r.t, os.WriteFile(pack[:len(pack)-len(".pack")]+suffix, nil, 0o666))
}

// foreignPack makes one pack of git's of everything, with a commit of somebody's first.
func (r *repo) foreignPack() {
	r.t.Helper()
	tree := r.git("mktree")
	out, err := r.runWith([]string{
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.invalid", "GIT_COMMITTER_NAME=A",
		"GIT_COMMITTER_EMAIL=a@example.invalid", "GIT_COMMITTER_DATE=2147483647 +0000",
	}, "", "commit-tree", "-m", "last", tree)
	require.NoError(r.t, err, out)
	r.git("update-ref", "refs/heads/main", out[:40])
	r.git("repack", "-adq")
}

// Git sets the time of a pack's file where it wants to write an object that the pack has.
func TestAPackThatGitHasTakenSomethingUpFromStays(t *testing.T) {
	t.Parallel()
	r, first, second, only := twoChains(t)
	what := dropping(only)
	what.Still = func(context.Context, map[objstore.ID]struct{}) (bool, error) {
		later := time.Now().Add(time.Minute)
		for _, name := range r.packs(".pack") {
			later = later.Add(time.Second)
			require.NoError(t, os.Chtimes(r.packPath(name), later, later))
		}
		return true, nil
	}
	before := r.packs(".pack", ".idx")
	result, err := r.open().Drop(t.Context(), what)
	require.NoError(t, err)
	assert.Equal(t, len(only), result.Left)
	assert.Zero(t, result.Objects)
	for _, name := range before {
		assert.Contains(t, r.packs(".pack", ".idx"), name)
	}
	first.requireAll(t, r.open())
	second.requireAll(t, r.open())
}

func TestNothingIsDroppedWhileGitHasItsIndexLocked(t *testing.T) {
	t.Parallel()
	r, first, second, only := twoChains(t)
	r.letFirstGo(first)
	lock := r.packPath("multi-pack-index.lock")
	require.NoError(t, os.WriteFile(lock, nil, 0o666))
	s := r.open()
	packs := r.packs(".pack")
	result, err := s.Drop(t.Context(), dropping(only))
	require.NoError(t, err)
	assert.Zero(t, result.Objects)
	assert.Equal(t, len(only), result.Left)
	assert.Equal(t, result.BytesBefore, result.BytesAfter)
	assert.Equal(t, packs, r.packs(".pack"))

	require.NoError(t, os.Remove(lock))
	result, err = s.Drop(t.Context(), dropping(only))
	require.NoError(t, err)
	assert.Equal(t, len(only), result.Objects)
	assert.Zero(t, result.Left)
	second.requireAll(t, r.open())
	r.fsck()
}

func TestWhatIsNeededAgainIsNotDropped(t *testing.T) {
	t.Parallel()
	r, first, second, only := twoChains(t)
	what := dropping(only)
	what.Still = func(context.Context, map[objstore.ID]struct{}) (bool, error) { return false, nil }
	_, err := r.open().Drop(t.Context(), what)
	require.ErrorIs(t, err, objstore.ErrInUse)
	first.requireAll(t, r.open())
	second.requireAll(t, r.open())
	r.fsck()
}

func TestADropWaitsForPins(t *testing.T) {
	t.Parallel()
	r, first, _, only := twoChains(t)
	release, err := r.open().Pin(t.Context())
	require.NoError(t, err)
	another, err := r.open().Pin(t.Context())
	require.NoError(t, err, "any number may pin")
	another()

	within, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = r.open().Drop(within, dropping(only))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	first.requireAll(t, r.open())

	release()
	release()
	result, err := r.open().Drop(t.Context(), dropping(only))
	require.NoError(t, err)
	assert.Equal(t, len(only), result.Objects)
	r.letFirstGo(first)
	r.fsck()
}

func TestADropThatDiesHasLostNothingElse(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"drop-staged", "drop-after-rename", "merge-between-removes"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			r, first, second, only := twoChains(t)
			dies := errors.New("dies here")
			s := r.open(func(o *objstore.Options) {
				o.Failpoint = func(name string) error {
					if name == point {
						return dies
					}
					return nil
				}
			})
			_, err := s.Drop(t.Context(), dropping(only))
			require.ErrorIs(t, err, dies)
			second.requireAll(t, r.open())
			_, err = r.open().Drop(t.Context(), dropping(only))
			require.NoError(t, err)
			second.requireAll(t, r.open())
			_, _, err = r.open().Get(first.tip)
			require.ErrorIs(t, err, objstore.ErrNotFound)
			r.letFirstGo(first)
			r.fsck()
		})
	}
}
