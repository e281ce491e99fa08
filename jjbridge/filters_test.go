package jjbridge_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// TestAFilterThatFailsCostsOnlyItsFiles breaks a filter that git requires in each way in which one can break.
func TestAFilterThatFailsCostsOnlyItsFiles(t *testing.T) {
	t.Parallel()
	for name, config := range map[string][]string{
		"no such command":         {"clean", "no-such-filter clean %f"},
		"no such process":         {"process", "no-such-filter filter-process", "clean", "no-such-filter clean %f"},
		"a process that ends":     {"process", "true"},
		"a command that fails":    {"clean", "false"},
		"nothing is configured":   {},
		"a process without space": {"process", "no-such-filter"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := repotest.New(t, repotest.Commit)
			repo.Write(".gitattributes", "*.bin filter=strict\n*.other filter=other\n")
			repo.Write("tracked.bin", "1\n")
			repo.Git("add", "--all") // without the filter yet
			repo.Git("config", "filter.strict.required", "true")
			repo.Git("config", "filter.other.required", "true")
			repo.Git("config", "filter.other.clean", "tr a-z A-Z")
			for i := 0; i < len(config); i += 2 {
				repo.Git("config", "filter.strict."+config[i], config[i+1])
			}
			repo.Write("tracked.bin", "changed\n")
			repo.Write("x.other", "x\n")
			repo.Write("new.txt", "1\n")
			want := []snapshot.LeftOut{}
			for i := range 5 {
				want = append(want, snapshot.LeftOut{Path: fmt.Sprintf("new%d.bin", i), Reason: snapshot.LeftUnreadable})
				repo.Write(want[i].Path, "1\n")
			}
			want = append(want, snapshot.LeftOut{Path: "tracked.bin", Reason: snapshot.LeftUnreadable})

			var warned []error
			opts := jjbridge.CaptureOptions{Warn: func(err error) { warned = append(warned, err) }}
			v := capture(t, repo, opts)
			assert.Equal(t, want, v.LeftOut)
			assert.Equal(t, []string{".gitattributes", "README.md", "new.txt", "notes/todo.txt", "src/main.go", "x.other"}, paths(repo, v))
			assert.Equal(t, "X", repo.Git("show", v.Tree.String()+":x.other"))
			require.Len(t, warned, 1, "one for the filter, and not for each file")
			require.ErrorIs(t, warned[0], jjbridge.ErrFilter)
			assert.ErrorContains(t, warned[0], `"strict", which git requires for new0.bin and 5 more: `)
			left, err := filepath.Glob(filepath.Join(repo.GitDir, "smithers", "worktrees", "*", "objects-*"))
			require.NoError(t, err)
			assert.Empty(t, left)
			assert.Equal(t, v, capture(t, repo, opts), "and so it is the next time")

			repo.Git("config", "filter.strict.required", "false")
			if slices.Contains(config, "process") {
				repo.Git("config", "--unset", "filter.strict.process") // without which git adds nothing, required or not
			}
			assert.Equal(t, expected(t, repo), capturedAs(t, repo).Tree.String(), "one that is not required changes nothing")
		})
	}
}

// TestAFilterThatBreaksLaterIsNoticed has git look into a file whose time does not tell whether it has changed.
func TestAFilterThatBreaksLaterIsNoticed(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Write(".gitattributes", "*.bin filter=strict\n")
	repo.Git("config", "filter.strict.required", "true")
	repo.Git("config", "filter.strict.clean", "cat")
	repo.Write("a.bin", "1\n")
	later := time.Now().Add(24 * time.Hour)
	require.NoError(t, os.Chtimes(filepath.Join(repo.Dir, "a.bin"), later, later))
	assert.Empty(t, capturedAs(t, repo).LeftOut)

	repo.Git("config", "filter.strict.clean", "false")
	repo.Write("new.txt", "1\n")
	v := capturedAs(t, repo)
	assert.Equal(t, []snapshot.LeftOut{{Path: "a.bin", Reason: snapshot.LeftUnreadable}}, v.LeftOut)
	assert.Contains(t, paths(repo, v), "new.txt")
}

func TestARestoreKeepsTheFileThatAFilterLeftOut(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Write(".gitattributes", "*.bin filter=strict\n")
	repo.Git("config", "filter.strict.required", "true")
	repo.Git("config", "filter.strict.clean", "false")
	repo.Write("a.bin", "mine\n")
	repo.Write("other", "1\n")
	c := workingCopy(t, repotest.Git, repo)
	then := c.captured()
	c.keep(then)

	repo.Git("config", "filter.strict.clean", "cat")
	repo.Write("other", "2\n")
	restore := func(want snapshot.VCS) error {
		c := workingCopy(t, repotest.Git, repo)
		have := c.captured()
		plan, err := c.Plan(t.Context(), have, want.Tree, want.LeftOut...)
		require.NoError(t, err)
		c.keep(have)
		return c.Restore(t.Context(), plan)
	}
	now := capturedAs(t, repo)
	require.NoError(t, restore(then.VCS))
	assert.Equal(t, "mine\n", read(t, repo, "a.bin"))
	assert.Equal(t, "1\n", read(t, repo, "other"))

	repo.Write("a.bin", "newer\n")
	repo.Git("config", "filter.strict.clean", "false")
	require.ErrorIs(t, restore(now), jjbridge.ErrRefused, "nobody has recorded it")
	assert.Equal(t, "newer\n", read(t, repo, "a.bin"))
	assert.Equal(t, "1\n", read(t, repo, "other"))
}

// read is what is in a file of the working copy.
func read(t *testing.T, repo *repotest.Repo, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(repo.Dir, name))
	require.NoError(t, err)
	return string(data)
}

// TestARestoreIsRefusedWholeIfAFilterFails: git stops at such a file in the middle of a checkout, after it has removed other files.
func TestARestoreIsRefusedWholeIfAFilterFails(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Git("config", "filter.strict.required", "true")
	repo.Git("config", "filter.strict.clean", "cat")
	repo.Git("config", "filter.strict.smudge", "cat")
	repo.Write(".gitattributes", "*.bin filter=strict\n")
	for _, name := range []string{"a", "b.bin", "c"} {
		repo.Write(name, "first\n")
	}
	first := keptTree(t, repo)
	repo.Write("b.bin", "second\n")
	require.NoError(t, os.Remove(filepath.Join(repo.Dir, "a")))
	require.NoError(t, os.Remove(filepath.Join(repo.Dir, ".gitattributes")))
	repo.Write("c", "second\n")

	repo.Git("config", "filter.strict.smudge", "echo no object here >&2; false")
	c := workingCopy(t, repotest.Git, repo)
	before := files(t, repo.Dir)
	err := c.Restore(t.Context(), c.plan(first))
	require.ErrorIs(t, err, jjbridge.ErrRefused)
	require.ErrorContains(t, err, "b.bin: smudge filter strict failed: no object here")
	assert.Equal(t, before, files(t, repo.Dir), "nothing was touched")

	repo.Git("config", "filter.strict.smudge", "cat")
	c = workingCopy(t, repotest.Git, repo)
	c.restore(first)
	assert.Equal(t, first, keptTree(t, repo))
	left, err := filepath.Glob(filepath.Join(repo.GitDir, "smithers", "worktrees", "*", "rehearsal-*"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

// keptTree captures the working copy, stores the objects and returns the tree.
func keptTree(t *testing.T, repo *repotest.Repo) objstore.ID {
	t.Helper()
	c := workingCopy(t, repotest.Git, repo)
	captured := c.captured()
	c.keep(captured)
	return captured.VCS.Tree
}
