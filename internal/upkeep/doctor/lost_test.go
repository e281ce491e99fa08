package doctor_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/upkeep/doctor"
	"github.com/git-smithers/git-smithers/internal/upkeep/prune"
	"github.com/git-smithers/git-smithers/timeline"
)

// packed packs all refs, rewrites packed-refs, and returns what it was made.
func (c *clinic) packed(damage func(string) string) string {
	c.t.Helper()
	repotest.NeedsFiles(c.t)
	c.Git("pack-refs", "--all")
	path := filepath.Join(c.GitDir, "packed-refs")
	data, err := os.ReadFile(path)
	require.NoError(c.t, err)
	damaged := damage(string(data))
	require.NotEqual(c.t, string(data), damaged)
	require.NoError(c.t, os.WriteFile(path, []byte(damaged), 0o666))
	return damaged
}

// garbled makes the line of a ref one that is none and still names it.
func garbled(ref string) func(string) string {
	return func(data string) string {
		at := strings.Index(data, " "+ref+"\n") - 40
		return data[:at] + "zzzzzz" + data[at+6:]
	}
}

func TestARunWhoseLineInPackedRefsIsNoneComesBack(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		damage func(string) string
		found  []string
	}{
		"and names it": {
			garbled("refs/smithers/_tip/one"),
			[]string{"damaged-packed-refs packed-refs", "lost-tip refs/smithers/_tip/one"},
		},
		"and is cut": {
			func(data string) string { return data[:strings.Index(data, "refs/smithers/_tip/two")+20] },
			[]string{"damaged-packed-refs packed-refs", "lost-tip refs/smithers/_tip/two"},
		},
		"and is gone": {
			func(string) string { return "" },
			[]string{"lost-tip refs/smithers/_tip/one", "lost-tip refs/smithers/_tip/two"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClinic(t)
			one, two := c.Git("rev-parse", "refs/smithers/_tip/one"), c.Git("rev-parse", "refs/smithers/_tip/two")
			branch := c.Git("rev-parse", "HEAD")
			damaged := c.packed(k.damage)
			assert.Equal(t, k.found, c.mend())
			assert.Equal(t, one, c.Git("rev-parse", "refs/smithers/_tip/one"))
			assert.Equal(t, two, c.Git("rev-parse", "refs/smithers/_tip/two"))
			c.Git("update-ref", "refs/heads/main", branch) // where nothing said that it was there
			if len(damaged) > 0 {
				kept, err := os.ReadFile(filepath.Join(c.GitDir, "smithers/damaged/packed-refs"))
				require.NoError(t, err)
				assert.Equal(t, damaged, string(kept))
			}
		})
	}
}

func TestALineOfTheUsersOwnIsNamedAndStaysAFinding(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	c.Damaged()
	main := c.Git("rev-parse", "main")
	c.packed(garbled("refs/heads/main"))
	found := c.examine()
	require.Len(t, found, 1)
	assert.Equal(t, doctor.DamagedPacked, found[0].Kind)
	assert.Contains(t, found[0].What, "zzzzzz")

	s := c.open()
	require.NoError(t, doctor.New(s, nil).Repair(t.Context(), &found[0]))
	require.NoError(t, s.Close())
	left := c.examine()
	require.Len(t, left, 1)
	assert.Equal(t, "lost-ref refs/heads/main", left[0].Kind+" "+left[0].Where)
	assert.Empty(t, left[0].Repair)
	assert.Contains(t, left[0].What, "`git update-ref refs/heads/main "+main+"`")
	c.Git("update-ref", "refs/heads/main", main)
	assert.Empty(t, c.examine())
}

func TestAnEmptyRefOfTheUsersOwnIsAFinding(t *testing.T) {
	t.Parallel()
	repotest.NeedsFiles(t)
	c := newClinic(t)
	main := c.Git("rev-parse", "main")
	c.Git("symbolic-ref", "refs/heads/other", "refs/heads/main")
	assert.Empty(t, c.examine())
	require.NoError(t, os.Truncate(filepath.Join(c.GitDir, "refs/heads/main"), 0))
	found := c.examine()
	require.Len(t, found, 1)
	assert.Equal(t, "broken-ref refs/heads/main", found[0].Kind+" "+found[0].Where)
	assert.Contains(t, found[0].What, main)
	assert.Empty(t, found[0].Repair)
	require.NoError(t, os.WriteFile(filepath.Join(c.GitDir, "refs/heads/main"), []byte(main+"\n"), 0o666))
}

func TestARunIsLostThatHasFrameRefsOrIsAtARemote(t *testing.T) {
	t.Parallel()
	for name, refs := range map[string][]string{
		"frame refs": {"refs/smithers/_tip/one", "refs/smithers-remote/origin/one"},
		"a remote":   {"refs/smithers/_tip/one", "refs/smithers/one/0", "refs/smithers/one/1", "refs/smithers/one/2", "refs/smithers/one/3", "refs/smithers/one/4", "refs/smithers/one/5"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClinic(t)
			for _, ref := range refs {
				c.Git("update-ref", "-d", ref)
			}
			assert.Equal(t, []string{"lost-tip refs/smithers/_tip/one"}, c.mend())
			assert.Equal(t, c.tip, c.Git("rev-parse", "refs/smithers/_tip/one"))
		})
	}
}

func TestWhatIsNoLostRunIsNoFinding(t *testing.T) {
	t.Parallel()
	t.Run("an entry that lost a race", func(t *testing.T) {
		t.Parallel()
		c := newClinic(t)
		c.Git("update-ref", "-d", "refs/smithers/two/5")
		c.Git("update-ref", "refs/smithers/_tip/two", "refs/smithers/two/4")
		assert.Empty(t, c.examine())
	})
	t.Run("a run that was pruned", func(t *testing.T) {
		t.Parallel()
		c := newClinic(t)
		s := c.open()
		_, err := prune.New(s, prune.Options{}).Forget(t.Context(), prune.Policy{}, false, "two")
		require.NoError(t, err)
		require.NoError(t, s.Close())
		c.Git("update-ref", "-d", "refs/smithers/_held/two") // as when it is collected
		assert.Empty(t, c.examine())
	})
	t.Run("what another run stands on", func(t *testing.T) {
		t.Parallel()
		c := newClinic(t)
		c.Git("update-ref", "refs/smithers-remote/origin/three", "refs/smithers/_tip/two")
		for i := range 6 {
			c.Git("update-ref", "-d", fmt.Sprintf("refs/smithers/two/%d", i))
		}
		c.Git("update-ref", "-d", "refs/smithers/_tip/two")
		assert.Empty(t, c.examine())
	})
	t.Run("a run of another repository", func(t *testing.T) {
		t.Parallel()
		c := newClinic(t)
		other := newClinic(t)
		s := other.open()
		_, err := s.Fork(t.Context(), timeline.ForkRequest{From: "one", RunID: "three"})
		require.NoError(t, err)
		require.NoError(t, s.Close())
		borrowed := filepath.Join(other.GitDir, "objects") + "\n"
		require.NoError(t, os.WriteFile(filepath.Join(c.GitDir, "objects/info/alternates"), []byte(borrowed), 0o666))
		assert.Empty(t, c.examine())
	})
}

func TestWhatIsLeftOfAPrunedRunComesBack(t *testing.T) {
	t.Parallel()
	for lost, found := range map[string]string{
		"refs/smithers/_held/two": "lost-tip refs/smithers/_held/two",
		"refs/smithers/_gone/two": "lost-tip refs/smithers/_tip/two",
	} {
		t.Run(lost, func(t *testing.T) {
			t.Parallel()
			c := newClinic(t)
			tip := c.Git("rev-parse", "refs/smithers/_tip/two")
			s := c.open()
			_, err := prune.New(s, prune.Options{}).Forget(t.Context(), prune.Policy{}, false, "two")
			require.NoError(t, err)
			require.NoError(t, s.Close())
			c.packed(garbled(lost))
			assert.Equal(t, []string{"damaged-packed-refs packed-refs", found}, c.mend())
			_, ref, _ := strings.Cut(found, " ")
			assert.Equal(t, tip, c.Git("rev-parse", ref))
		})
	}
}

func TestAnEmptyFrameRefBetweenOthersIsOneFinding(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	before := c.refsNow()
	c.WriteRef("refs/smithers/one/3", "")
	found := c.examine()
	require.Len(t, found, 1)
	assert.Contains(t, found[0].Repair, "removes the file; ")
	assert.Equal(t, []string{"broken-ref refs/smithers/one/3"}, c.mend())
	assert.Equal(t, before, c.refsNow())
	assert.NoDirExists(t, filepath.Join(c.GitDir, "smithers/damaged"))
}

func TestSmallPacksThatAreNoneOfOursAreNotUntidy(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	for i := range 20 {
		blob := c.GitInput(fmt.Sprint("file ", i), "hash-object", "-w", "--stdin")
		c.GitInput(blob+"\n", "pack-objects", "-q", filepath.Join(c.GitDir, "objects/pack/pack"))
	}
	assert.Empty(t, c.examine())
}
