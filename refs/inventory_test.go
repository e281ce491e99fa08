package refs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/refs/refstest"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/refs"
)

func TestSoundPackedParts(t *testing.T) {
	t.Parallel()
	const head = "# pack-refs with: peeled fully-peeled sorted \n"
	one, two := strings.Repeat("1", 40), strings.Repeat("2", 40)
	for name, k := range map[string]struct {
		data, sound string
		broken      []refs.PackedLine
	}{
		"nothing":       {"", "", nil},
		"sound lines":   {head + one + " refs/tags/a\n^" + two + "\n", head + one + " refs/tags/a\n^" + two + "\n", nil},
		"without head":  {one + " refs/heads/a\n", one + " refs/heads/a\n", nil},
		"a line of old": {head + "zz" + one[2:] + " refs/heads/a\n^" + two + "\n", head, []refs.PackedLine{{Number: 2, Text: "zz" + one[2:] + " refs/heads/a", Name: "refs/heads/a"}}},
		"garbage":       {"\x00\xff\n" + one + " refs/heads/a\n", one + " refs/heads/a\n", []refs.PackedLine{{Number: 1, Text: "\x00\xff"}}},
		"an end too early": {
			one + " refs/heads/a\n" + two + " refs/hea", one + " refs/heads/a\n",
			[]refs.PackedLine{{Number: 2, Text: two + " refs/hea", Name: "refs/hea", Cut: true}},
		},
		"a peeled line of nothing": {"^" + one + "\n", "", []refs.PackedLine{{Number: 1, Text: "^" + one}}},
		"a name of nothing":        {one + " ../../config\n", "", []refs.PackedLine{{Number: 1, Text: one + " ../../config"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sound, broken := refs.SoundPacked([]byte(k.data))
			assert.Equal(t, k.sound, string(sound))
			assert.Equal(t, k.broken, broken)
		})
	}
}

func TestInventoryTellsOfTheRefsAtWhichGitStops(t *testing.T) {
	t.Parallel()
	repotest.NeedsFiles(t)
	repo := refstest.New(t)
	repo.Damaged()
	id := refstest.Objects(t, repo, 1)[0].String()
	db := refstest.Open(t, repo, nil)
	for name, content := range map[refs.Name]string{
		"refs/heads/sound": id + "\n", "refs/heads/cr": id + "\r\n", "refs/heads/bare": id, "refs/heads/more": id + "\nFETCHED\n",
		"refs/heads/symbolic": "ref: refs/heads/sound\n", "refs/heads/held.lock": "", "refs/heads/.hidden": "",
	} {
		refstest.WriteRef(t, repo, name, content)
	}
	found, err := db.Inventory(t.Context())
	require.NoError(t, err)
	assert.Empty(t, found.Others)
	repo.Git("for-each-ref", "refs/heads/")

	for name, content := range map[refs.Name]string{
		"refs/heads/empty": "", "refs/heads/short": id[:30], "refs/tags/long": id + "0\n", "refs/heads/garbage": strings.Repeat("x", 41),
	} {
		refstest.WriteRef(t, repo, name, content)
	}
	line := "zzzzzz" + id[6:] + " refs/tags/packed"
	require.NoError(t, os.WriteFile(filepath.Join(repo.GitDir, "packed-refs"), []byte(line+"\n"), 0o666))
	found, err = db.Inventory(t.Context())
	require.NoError(t, err)
	names := make([]refs.Name, len(found.Others))
	for i, broken := range found.Others {
		names[i] = broken.Name
	}
	assert.Equal(t, []refs.Name{"refs/heads/empty", "refs/heads/garbage", "refs/heads/short", "refs/tags/long"}, names)
	require.ErrorIs(t, found.Packed, refs.ErrBroken)
	assert.Equal(t, []refs.PackedLine{{Number: 1, Text: line, Name: "refs/tags/packed"}}, found.Lines)
}

func TestTheLockThatIsHeldIsNamedAlsoWhereItIsNoRefs(t *testing.T) {
	t.Parallel()
	repotest.NeedsFiles(t)
	repo := refstest.New(t)
	id := refstest.Objects(t, repo, 1)[0]
	frame := refstest.Frame(t, "run", 0)
	repo.Git("update-ref", string(frame), id.String())
	repo.Git("pack-refs", "--all")
	lock := filepath.Join(repo.GitDir, "packed-refs.lock")
	require.NoError(t, os.WriteFile(lock, nil, 0o666))
	db := refstest.Open(t, repo, func(o *refs.Options) { o.Patience = 1 })
	err := db.Apply(t.Context(), refs.Update{Name: frame, Old: id})
	require.ErrorIs(t, err, refs.ErrLocked)
	assert.Contains(t, err.Error(), lock)
	require.NoError(t, os.Remove(lock))
}
