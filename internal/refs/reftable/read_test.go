package reftable_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/refs/reftable"
	"github.com/git-smithers/git-smithers/objstore"
)

// TestTablesOfGitAreRead reads what git writes: refs, symbolic refs, peeled tags, and deletions over older tables.
func TestTablesOfGitAreRead(t *testing.T) {
	t.Parallel()
	for name, hash := range algorithms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStack(t, hash)
			ids := s.ids(2)
			s.Git("tag", "--annotate", "--message=x", "v1", ids[0].String())
			s.Git("symbolic-ref", "refs/remotes/o/HEAD", "refs/heads/main")
			for i, name := range []string{"refs/smithers/a/tip", "refs/smithers/b/tip", "refs/smithers/a/1"} {
				s.Git("update-ref", name, ids[i%2].String())
			}
			head, found, err := s.look().Get("HEAD")
			require.NoError(t, err)
			assert.True(t, found)
			assert.Equal(t, reftable.Record{Name: "HEAD", Target: "refs/heads/main"}, head)
			tag, _, err := s.look().Get("refs/tags/v1")
			require.NoError(t, err)
			assert.Equal(t, s.Git("rev-parse", "v1"), tag.ID.String())
			assert.Equal(t, ids[0], tag.Peeled)
			s.wantSame(t)

			s.want("refs/smithers/b/tip", ids[1])
			s.Git("update-ref", "-d", "refs/smithers/b/tip")
			s.want("refs/smithers/b/tip", objstore.ID{})
			s.want("refs/smithers/a", objstore.ID{})
			s.want("refs/zzz", objstore.ID{})
			s.wantSame(t)
			s.Git("pack-refs", "--all")
			assert.Equal(t, 1, s.tables())
			s.wantSame(t)
		})
	}
}

// TestADeletionHidesOlderTables reads a stack that git does not compact, so that a deletion stays above the value.
func TestADeletionHidesOlderTables(t *testing.T) {
	t.Parallel()
	s := newStack(t, objstore.SHA1)
	s.Env = append(s.Env, "GIT_TEST_REFTABLE_AUTOCOMPACTION=false")
	ids := s.ids(2)
	s.Git("update-ref", "refs/x/a", ids[0].String())
	s.Git("update-ref", "refs/x/b", ids[0].String())
	before := s.tables()
	s.Git("update-ref", "-d", "refs/x/a")
	s.Git("update-ref", "refs/x/b", ids[1].String())
	assert.Equal(t, before+2, s.tables())
	s.want("refs/x/a", objstore.ID{})
	s.want("refs/x/b", ids[1])
	s.wantSame(t)
}

// TestABigTableIsSearchedByItsIndex reads tables of 10,000 refs: with one level of index, with two levels of small blocks, and
// with blocks that are not aligned.
func TestABigTableIsSearchedByItsIndex(t *testing.T) {
	t.Parallel()
	for name, hash := range algorithms {
		for _, size := range []string{"4096", "512", "65536"} {
			t.Run(name+" "+size, func(t *testing.T) {
				t.Parallel()
				s := newStack(t, hash)
				s.Git("config", "reftable.blockSize", size)
				ids := s.ids(3)
				var input strings.Builder
				for i := range 10_000 {
					fmt.Fprintf(&input, "create refs/smithers/run%d/%05d %v\n", i%7, i, ids[i%3])
				}
				s.GitInput(input.String(), "update-ref", "--stdin")
				s.Git("pack-refs", "--all") // newStack compares all refs with git's in the end
				for i := 0; i < 10_000; i += 371 {
					s.want(fmt.Sprintf("refs/smithers/run%d/%05d", i%7, i), ids[i%3])
					s.want(fmt.Sprintf("refs/smithers/run%d/%05dx", i%7, i), objstore.ID{})
				}
				var names []string
				for rec, err := range s.look().Each("refs/smithers/run3/", "refs/smithers/run3/09900") {
					require.NoError(t, err)
					names = append(names, rec.Name)
				}
				want := strings.Fields(s.Git("for-each-ref", "--format=%(refname)", "refs/smithers/run3"))
				assert.Equal(t, want[len(want)-len(names):], names)
				assert.Len(t, names, 15)
			})
		}
	}
}

// TestReflogsAreFound: native git must move a ref that has a reflog.
func TestReflogsAreFound(t *testing.T) {
	t.Parallel()
	for name, hash := range algorithms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStack(t, hash)
			ids := s.ids(2)
			has := func(prefix string) bool {
				has, err := s.look().HasLog(prefix)
				require.NoError(t, err)
				return has
			}
			assert.False(t, has("refs/"))
			s.Git("update-ref", "--create-reflog", "refs/smithers/a", ids[0].String())
			assert.True(t, has("refs/smithers/a\x00"))
			assert.True(t, has("refs/smithers/"))
			assert.False(t, has("refs/smithers/b"))
			assert.False(t, has("refs/heads/"))

			var input strings.Builder
			for i := range 3_000 {
				fmt.Fprintf(&input, "create refs/many/%05d %v\n", i, ids[i%2])
			}
			s.Git("config", "core.logAllRefUpdates", "always")
			s.GitInput(input.String(), "update-ref", "--stdin", "-m", strings.Repeat("why ", 20))
			s.Git("pack-refs", "--all")
			assert.True(t, has("refs/many/01234\x00"))
			assert.True(t, has("refs/smithers/a\x00"))
			assert.False(t, has("refs/many/01234x"))
			assert.False(t, has("refs/zzz"))
			s.wantSame(t)
		})
	}
}

// TestATableThatIsRemovedStaysReadable removes all tables of a view, big and small ones, by other processes.
func TestATableThatIsRemovedStaysReadable(t *testing.T) {
	t.Parallel()
	s := newStack(t, objstore.SHA1)
	ids := s.ids(2)
	var input strings.Builder
	for i := range 5_000 {
		fmt.Fprintf(&input, "create refs/many/%05d %v\n", i, ids[0])
	}
	s.GitInput(input.String(), "update-ref", "--stdin")
	s.mustAppend(reftable.Change{Name: "refs/x/a", New: ids[0]})
	view := s.look()
	s.Git("update-ref", "refs/x/a", ids[1].String())
	s.Git("update-ref", "-d", "refs/many/00000")
	s.Git("pack-refs", "--all")
	for name := range strings.FieldsSeq(view.Text()) {
		assert.NoFileExists(t, filepath.Join(s.dir, name))
	}
	count := 0
	for rec, err := range view.Each("refs/", "") {
		require.NoError(t, err)
		if rec.Name != "refs/heads/main" {
			assert.Equal(t, ids[0], rec.ID)
		}
		count++
	}
	assert.Equal(t, 5_002, count)
	s.want("refs/x/a", ids[1])
	s.want("refs/many/00000", objstore.ID{})
}

// TestAViewStaysTheSameUntilTheListChanges: the text of the list is the key of the cache.
func TestAViewStaysTheSameUntilTheListChanges(t *testing.T) {
	t.Parallel()
	s := newStack(t, objstore.SHA1)
	ids := s.ids(1)
	first := s.look()
	assert.Same(t, first, s.look())
	s.Git("update-ref", "refs/x/a", ids[0].String())
	second := s.look()
	assert.NotEqual(t, first.Text(), second.Text())
	_, found, err := first.Get("refs/x/a")
	require.NoError(t, err)
	assert.False(t, found)
}

// TestAStackOfAWorktreeIsAStack: HEAD of a linked worktree is in a stack of its own.
func TestAStackOfAWorktreeIsAStack(t *testing.T) {
	t.Parallel()
	s := newStack(t, objstore.SHA1)
	s.Git("worktree", "add", "--quiet", "-b", "other", "../linked")
	view, err := reftable.Open(filepath.Join(s.GitDir, "worktrees", "linked", "reftable"), s.hash).Look()
	require.NoError(t, err)
	head, _, err := view.Get("HEAD")
	require.NoError(t, err)
	assert.Equal(t, "refs/heads/other", head.Target)
}

// TestDamagedStacksAreErrors damages the list and the tables of a stack in ways that each have an error of their own.
func TestDamagedStacksAreErrors(t *testing.T) {
	t.Parallel()
	s := newStack(t, objstore.SHA1)
	s.Damaged()
	s.mustAppend(reftable.Change{Name: "refs/x/a", New: s.ids(1)[0]})
	list := s.look().Text()
	last := filepath.Join(s.dir, strings.Fields(list)[strings.Count(list, "\n")-1])
	table, err := os.ReadFile(last)
	require.NoError(t, err)
	for name, damage := range map[string]struct {
		list, table string
		want        error
		words       string
	}{
		"cut list":        {list[:len(list)-1], string(table), reftable.ErrDamaged, "cut"},
		"outside":         {list + "../../config\n", string(table), reftable.ErrDamaged, "not the name"},
		"folder":          {list + ".\n", string(table), reftable.ErrDamaged, "not the name"},
		"twice":           {list + list, string(table), reftable.ErrDamaged, "twice"},
		"huge list":       {strings.Repeat("0x1-0x1-1.ref\n", 100_000), string(table), reftable.ErrDamaged, "longer than"},
		"missing table":   {list + "0x1-0x1-1.ref\n", string(table), reftable.ErrDamaged, "missing"},
		"empty table":     {list, "", reftable.ErrDamaged, "does not begin"},
		"cut table":       {list, string(table[:len(table)-1]), reftable.ErrDamaged, "cut or damaged"},
		"cut in the head": {list, string(table[:30]), reftable.ErrDamaged, "cut"},
		"unknown version": {list, "REFT\x03" + string(table[5:]), reftable.ErrDamaged, "does not begin"},
		"damaged end":     {list, string(table[:len(table)-20]) + "x" + string(table[len(table)-19:]), reftable.ErrDamaged, "cut or damaged"},
		"no table":        {list, strings.Repeat("x", 200), reftable.ErrDamaged, "does not begin"},
		"empty list":      {"", string(table), reftable.ErrDamaged, "empty or missing"},
	} {
		require.NoError(t, os.WriteFile(s.List(), []byte(damage.list), 0o666), name)
		require.NoError(t, os.WriteFile(last, []byte(damage.table), 0o666), name)
		stack := reftable.Open(s.dir, s.hash)
		_, err := stack.Look()
		require.ErrorIs(t, err, damage.want, name)
		problems, err := stack.Check()
		require.NoError(t, err, name)
		if damage.want == nil {
			assert.Empty(t, problems, name)
			continue
		}
		require.Len(t, problems, 1, name)
		assert.Contains(t, problems[0], damage.words, name)
	}
	require.NoError(t, os.WriteFile(s.List(), []byte(list), 0o666))
	require.NoError(t, os.WriteFile(last, table, 0o666))
	_, err = reftable.Open(s.dir, objstore.SHA256).Look()
	require.ErrorIs(t, err, reftable.ErrForeign)
	_, err = reftable.Open(filepath.Join(s.dir, "none"), objstore.SHA1).Look()
	require.ErrorIs(t, err, reftable.ErrAbsent)
}
