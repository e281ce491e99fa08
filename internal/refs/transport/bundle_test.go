package transport_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/refs/refstest"
	"github.com/git-smithers/git-smithers/internal/refs/transport"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
)

// bundle writes a bundle of the tip of run into a file.
func (w *world) bundle(t *testing.T, run string, exclude ...objstore.ID) (path string) {
	t.Helper()
	var content bytes.Buffer
	require.NoError(t, open(t, w.Repo, nil).Bundle(t.Context(), &content, []refs.Name{refstest.Tip(t, run)}, exclude))
	path = filepath.Join(t.TempDir(), "runs.bundle")
	require.NoError(t, os.WriteFile(path, content.Bytes(), 0o666))
	return path
}

func TestABundleIsARemoteToFetchFrom(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 4)
	w.Git("update-ref", "refs/smithers/_tip/run", w.commits[3].String())
	w.Git("update-ref", "refs/smithers/_tip/other", w.commits[3].String())
	path := w.bundle(t, "run")
	colleague := refstest.New(t)
	from := open(t, colleague, nil)

	found, err := from.List(t.Context(), path, "refs/smithers/_tip/")
	require.NoError(t, err)
	assert.Equal(t, []refs.Ref{{Name: refstest.Tip(t, "run"), ID: w.commits[3]}}, found)
	for range 2 { // what is there already is no obstacle
		require.NoError(t, from.Fetch(t.Context(), path, []transport.Spec{allTips, allGone}, false))
		assert.Equal(t, map[refs.Name]objstore.ID{remoteTip(t, "run"): w.commits[3]}, has(t, colleague))
	}
	err = from.Fetch(t.Context(), path, []transport.Spec{{From: "refs/smithers/_tip/no", To: "refs/x/no"}}, false)
	require.ErrorIs(t, err, refs.ErrNotFound)
}

func TestTheObjectsOfABundleAreKeptUntilTheRefsHaveMoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	w.Git("update-ref", "refs/smithers/_tip/kept", w.commits[1].String())
	path := w.bundle(t, "kept")
	colleague := refstest.New(t)
	keeps := filepath.Join(colleague.GitDir, "objects", "pack", "*.keep")
	letGo, err := open(t, colleague, nil).TakeBundle(t.Context(), path)
	require.NoError(t, err)
	made, err := filepath.Glob(keeps)
	require.NoError(t, err)
	require.Len(t, made, 1)
	text, err := os.ReadFile(made[0])
	require.NoError(t, err)
	assert.Equal(t, objstore.KeepMessage+"\n", string(text), "a merge takes it for one of ours")
	colleague.Git("repack", "-a", "-d", "-q")
	colleague.Git("cat-file", "-e", w.commits[1].String())
	letGo()

	require.NoError(t, open(t, colleague, nil).Fetch(t.Context(), path, []transport.Spec{allTips}, false))
	left, err := filepath.Glob(keeps)
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestABundleHoldsNothingThatIsExcluded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 20)
	w.Git("update-ref", "refs/smithers/_tip/run", w.commits[19].String())
	path := w.bundle(t, "run", w.commits[17])
	colleague := refstest.New(t)
	from := open(t, colleague, nil)

	require.ErrorIs(t, from.Fetch(t.Context(), path, []transport.Spec{allTips}, false), transport.ErrBundle)
	assert.Empty(t, has(t, colleague))

	colleague.Git("fetch", "--quiet", w.Dir, w.commits[17].String()+":refs/base")
	require.NoError(t, from.Fetch(t.Context(), path, []transport.Spec{allTips}, false))
	assert.Equal(t, map[refs.Name]objstore.ID{remoteTip(t, "run"): w.commits[19]}, has(t, colleague))

	var none bytes.Buffer
	err := open(t, w.Repo, nil).Bundle(t.Context(), &none, []refs.Name{refstest.Tip(t, "run")}, []objstore.ID{w.commits[19]})
	assert.ErrorContains(t, err, "empty bundle")
}

func TestADamagedBundleBringsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 4)
	w.Git("update-ref", "refs/smithers/_tip/run", w.commits[3].String())
	path := w.bundle(t, "run")
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	colleague := refstest.New(t)
	from := open(t, colleague, nil)
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 1
	for name, content := range map[string][]byte{
		"cut in the header": whole[:20], "cut in the pack": whole[:len(whole)-30], "without a pack": whole[:bytes.Index(whole, []byte("PACK"))], "a flipped bit": flipped,
	} {
		require.NoError(t, os.WriteFile(path, content, 0o666))
		require.ErrorIs(t, from.Fetch(t.Context(), path, []transport.Spec{allTips}, false), transport.ErrBundle, name)
		assert.Empty(t, has(t, colleague), name)
	}
}
