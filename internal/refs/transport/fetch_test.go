package transport_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/refs/refstest"
	"github.com/git-smithers/git-smithers/internal/refs/transport"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
)

var (
	allTips = transport.Spec{From: "refs/smithers/_tip/*", To: "refs/smithers-remote/origin/*"}
	allGone = transport.Spec{From: "refs/smithers/_gone/*", To: "refs/smithers-remote/origin/_gone/*"}
)

// colleague is a clone of origin that has nothing yet.
func (w *world) colleague(t *testing.T) *repotest.Repo {
	t.Helper()
	repo := refstest.New(t)
	repo.Git("remote", "add", "origin", w.origin.Dir)
	return repo
}

func remoteTip(t *testing.T, run string) refs.Name {
	t.Helper()
	name, err := refs.Remote("origin", run)
	require.NoError(t, err)
	return name
}

func TestFetchBringsWhatIsThereAndPrunesWhatIsNot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3)
	w.origin.Git("fetch", "--quiet", w.Dir, "refs/held/line:refs/smithers/_tip/a", "refs/held/line:refs/smithers/_tip/b")
	colleague := w.colleague(t)
	from := open(t, colleague, nil)

	require.NoError(t, from.Fetch(t.Context(), "origin", []transport.Spec{allTips, allGone}, true))
	assert.Equal(t, map[refs.Name]objstore.ID{remoteTip(t, "a"): w.commits[2], remoteTip(t, "b"): w.commits[2]}, has(t, colleague))

	w.origin.Git("update-ref", "refs/smithers/_tip/a", w.commits[0].String())
	w.origin.Git("update-ref", "-d", "refs/smithers/_tip/b")
	require.NoError(t, from.Fetch(t.Context(), "origin", []transport.Spec{allTips, allGone}, false))
	assert.Equal(t, map[refs.Name]objstore.ID{remoteTip(t, "a"): w.commits[0], remoteTip(t, "b"): w.commits[2]}, has(t, colleague))
	require.NoError(t, from.Fetch(t.Context(), "origin", []transport.Spec{allTips, allGone}, true))
	assert.Equal(t, map[refs.Name]objstore.ID{remoteTip(t, "a"): w.commits[0]}, has(t, colleague))
}

func TestAFetchOfARefThatIsNotThereBringsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.origin.Git("fetch", "--quiet", w.Dir, "refs/held/line:refs/smithers/_tip/a")
	colleague := w.colleague(t)
	err := open(t, colleague, nil).Fetch(t.Context(), "origin",
		[]transport.Spec{allTips, {From: "refs/smithers/_tip/no", To: "refs/smithers-remote/origin/no"}}, true)
	require.ErrorIs(t, err, refs.ErrNotFound)
	assert.Empty(t, has(t, colleague))
	assert.Equal(t, "0", strings.Fields(colleague.Git("count-objects"))[0])
}

func TestAFetchedRunCannotPassForATombstone(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"refs/smithers/_tip/_gone", "refs/smithers/_tip/_gone/a"} {
		w := newWorld(t, 1)
		w.origin.Git("fetch", "--quiet", w.Dir, "refs/held/line:"+name, "refs/held/line:refs/smithers/_gone/b")
		colleague := w.colleague(t)
		require.NoError(t, open(t, colleague, nil).Fetch(t.Context(), "origin", []transport.Spec{allTips, allGone}, true))
		assert.Equal(t, "refs/smithers-remote/origin/_gone/b", colleague.Git("for-each-ref", "--format=%(refname)"))
	}
}

func TestFetchedObjectsAreChecked(t *testing.T) {
	t.Parallel()
	for _, bundle := range []bool{false, true} {
		t.Run("bundle="+strconv.FormatBool(bundle), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			w.Damaged()
			w.Git("update-ref", "refs/smithers/_tip/bad", w.badCommit(t))
			remote := w.Dir
			if bundle {
				remote = filepath.Join(w.Home, "bundle")
				w.Git("bundle", "create", "--quiet", remote, "refs/smithers/_tip/bad")
			}
			colleague := refstest.New(t)
			from := open(t, colleague, nil)

			err := from.Fetch(t.Context(), remote, []transport.Spec{allTips}, true)
			var failed *gitexec.Error
			require.ErrorAs(t, err, &failed)
			require.NotErrorIs(t, err, transport.ErrRemote)
			assert.Equal(t, bundle, errors.Is(err, transport.ErrBundle))
			assert.Contains(t, failed.Stderr, "hasDotgit")
			assert.Empty(t, has(t, colleague))

			// The user may know better.
			colleague.Damaged()
			colleague.Git("config", "fetch.fsck.hasDotgit", "ignore")
			require.NoError(t, open(t, colleague, nil).Fetch(t.Context(), remote, []transport.Spec{allTips}, true))
			assert.Len(t, has(t, colleague), 1)
		})
	}
}

// Neither leaves a repository that is only partly there, nor makes a whole one so.
func TestAFetchIntoAPartialOrShallowCloneBringsAllOfTheRun(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"--filter=blob:none", "--depth=1"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 5)
			w.origin.Git("config", "uploadpack.allowFilter", "true")
			w.origin.Git("fetch", "--quiet", w.Dir, "refs/heads/main:refs/heads/main", "refs/held/line:refs/smithers/_tip/a")
			clone := refstest.New(t)
			clone.Git("remote", "add", "origin", "file://"+w.origin.Dir)
			clone.Git("fetch", "--quiet", how, "origin", "main")
			config, err := os.ReadFile(filepath.Join(clone.GitDir, "config"))
			require.NoError(t, err)

			require.NoError(t, open(t, clone, nil).Fetch(t.Context(), "origin", []transport.Spec{allTips}, true))

			assert.Equal(t, "5", clone.Git("rev-list", "--count", w.commits[4].String(), "^"+w.Git("rev-parse", "main")))
			blob := w.Git("rev-parse", w.commits[4].String()+":file-4")
			missing := clone.Git("rev-list", "--objects", "--missing=print", w.commits[4].String(), "^"+w.Git("rev-parse", "main"))
			assert.Contains(t, missing, blob)
			assert.NotContains(t, missing, "?"+blob)
			after, err := os.ReadFile(filepath.Join(clone.GitDir, "config"))
			require.NoError(t, err)
			assert.Equal(t, string(config), string(after))
		})
	}
}

func TestFetchesSideBySideAreInNobodysWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 40)
	var update strings.Builder
	for i, id := range w.commits {
		fmt.Fprintf(&update, "create refs/smithers/_tip/run-%d %v\n", i, id)
	}
	w.GitInput(update.String(), "update-ref", "--stdin")
	colleague := refstest.New(t)
	from := open(t, colleague, nil)
	var fetching errgroup
	for range 6 {
		fetching.goes(func() error { return from.Fetch(t.Context(), w.Dir, []transport.Spec{allTips}, true) })
	}
	require.NoError(t, fetching.wait())
	assert.Len(t, has(t, colleague), 40)
}

// errgroup waits for goroutines and joins their errors.
type errgroup struct {
	running sync.WaitGroup
	mu      sync.Mutex
	errs    []error
}

func (g *errgroup) goes(f func() error) {
	g.running.Go(func() {
		err := f()
		g.mu.Lock()
		defer g.mu.Unlock()
		g.errs = append(g.errs, err)
	})
}

func (g *errgroup) wait() error {
	g.running.Wait()
	return errors.Join(g.errs...)
}
