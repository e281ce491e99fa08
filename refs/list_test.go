package refs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/refs/refstest"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/refs"
)

func TestFramesAndTipsListWhatIsThere(t *testing.T) {
	t.Parallel()
	repotest.NeedsFiles(t)
	repo := refstest.New(t)
	ids := refstest.Objects(t, repo, 4)
	var create strings.Builder
	for run, frames := range map[string]int{"a": 3, "a.b": 2, "ab": 12, "B": 1} {
		fmt.Fprintf(&create, "create %s %v\n", refstest.Tip(t, run), ids[0])
		for frame := range frames {
			fmt.Fprintf(&create, "create %s %v\n", refstest.Frame(t, run, int64(frame)), ids[0])
		}
	}
	// What is not ours is left out.
	for _, name := range []string{"refs/smithers/ab/x", "refs/smithers/ab/007", "refs/smithers/ab/12/x", "refs/smithers/_tip/X", "refs/smithers/_tip/y/z"} {
		fmt.Fprintf(&create, "create %s %v\n", name, ids[3])
	}
	repo.GitInput(create.String(), "update-ref", "--stdin")
	db := refstest.Open(t, repo, nil)
	check := func(what string, frame1 string) {
		t.Helper()
		frames, err := db.Frames(t.Context(), "ab")
		require.NoError(t, err, what)
		require.Len(t, frames, 12, what)
		for i, f := range frames {
			assert.Equal(t, int64(i), f.Frame, what)
		}
		assert.Equal(t, frame1, frames[1].ID.String(), what)
		tips, err := db.Tips(t.Context())
		require.NoError(t, err, what)
		var components []string
		for _, tip := range tips {
			components = append(components, tip.Component)
		}
		assert.Equal(t, []string{"%42", "a", "a.b", "ab"}, components, what)
	}
	check("in files", ids[0].String())
	repo.Git("pack-refs", "--all", "--prune")
	check("packed", ids[0].String())
	repo.Git("update-ref", string(refstest.Frame(t, "ab", 1)), ids[1].String())
	refstest.WriteRef(t, repo, refstest.Frame(t, "ab", 2)+".lock", "")
	check("both, where files win", ids[1].String())
	require.NoError(t, os.Remove(refstest.RefPath(repo, refstest.Frame(t, "ab", 2)+".lock")))
	reverse(t, filepath.Join(repo.GitDir, "packed-refs"))
	check("packed in no order", ids[1].String())

	frames, err := db.Frames(t.Context(), "none")
	require.NoError(t, err)
	assert.Empty(t, frames)
	_, err = db.Frames(t.Context(), "")
	assert.ErrorIs(t, err, refs.ErrMalformed)
}

func TestListsReturnWhatIsGoodBesideWhatIsBroken(t *testing.T) {
	t.Parallel()
	repotest.NeedsFiles(t)
	repo := refstest.New(t)
	id := refstest.Objects(t, repo, 1)[0]
	for frame := range int64(3) {
		repo.Git("update-ref", string(refstest.Frame(t, "run", frame)), id.String())
	}
	repo.Git("pack-refs", "--all", "--prune")
	broken := refstest.Frame(t, "run", 1)
	refstest.WriteRef(t, repo, broken, "")
	db := refstest.Open(t, repo, nil)

	frames, err := db.Frames(t.Context(), "run")

	var wrong *refs.BrokenError
	require.ErrorAs(t, err, &wrong)
	assert.Equal(t, broken, wrong.Name)
	assert.Equal(t, []refs.FrameRef{{Frame: 0, ID: id}, {Frame: 2, ID: id}}, frames)
	require.NoError(t, db.RemoveBroken(t.Context(), broken))
}

// What would be an error if it were read is in other runs' folders and among their
// packed refs.
func TestReadingARunReadsNoOthers(t *testing.T) {
	t.Parallel()
	repotest.NeedsFiles(t)
	repo := refstest.New(t)
	repo.Damaged()
	id := refstest.Objects(t, repo, 1)[0]
	noID := strings.Repeat("x", 40)
	packed := []byte("# pack-refs with: peeled fully-peeled sorted \n" + noID + " refs/smithers/aaa/0\n")
	for run := range 1000 {
		packed = fmt.Appendf(packed, "%v refs/smithers/run-%04d/0\n", id, run)
	}
	packed = append(packed, noID+" refs/smithers/zzz/0\n"...)
	require.NoError(t, os.WriteFile(filepath.Join(repo.GitDir, "packed-refs"), packed, 0o666))
	for _, other := range []string{"aaa", "run-0499", "run-0501", "zzz"} {
		refstest.WriteRef(t, repo, refstest.Frame(t, other, 1), "garbage")
	}
	db := refstest.Open(t, repo, nil)

	frames, err := db.Frames(t.Context(), "run-0500")
	require.NoError(t, err)
	assert.Equal(t, []refs.FrameRef{{Frame: 0, ID: id}}, frames)
	got, err := db.Resolve(t.Context(), refstest.Frame(t, "run-0500", 0))
	require.NoError(t, err)
	assert.Equal(t, id, got)
	_, err = db.Frames(t.Context(), "run-0501")
	assert.ErrorIs(t, err, refs.ErrBroken, "and they would be an error")
}

func TestBrokenPackedRefsAreAnError(t *testing.T) {
	t.Parallel()
	repotest.NeedsFiles(t)
	for name, content := range map[string]string{
		"garbage":               "garbage\n",
		"a line without an end": strings.Repeat("1", 40) + " refs/smithers/_tip/run",
		"no id":                 strings.Repeat("x", 40) + " refs/smithers/_tip/run\n",
		"no name":               strings.Repeat("1", 40) + " \n",
		"a header cut short":    "# pack-refs with: sorted",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := refstest.New(t)
			repo.Damaged()
			path := filepath.Join(repo.GitDir, "packed-refs")
			db := refstest.Open(t, repo, nil)
			require.NoError(t, os.WriteFile(path, []byte(content), 0o666))
			_, err := db.Tips(t.Context())
			var broken *refs.BrokenError
			require.ErrorAs(t, err, &broken)
			assert.Equal(t, path, broken.Path)
			_, err = db.Resolve(t.Context(), refstest.Tip(t, "run"))
			assert.ErrorIs(t, err, refs.ErrBroken)
			err = db.Apply(t.Context(), refs.Update{Name: refstest.Tip(t, "run"), New: refstest.ID(t, strings.Repeat("1", 40))})
			assert.ErrorIs(t, err, refs.ErrBroken)
		})
	}
}

// reverse puts packed-refs in the wrong order and leaves out the header that says
// it is in the right one.
func reverse(t *testing.T, path string) {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	lines := slices.Collect(strings.Lines(string(content)))[1:]
	slices.Reverse(lines)
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "")), 0o666))
}
