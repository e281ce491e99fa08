package files_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/jjbridge"
)

// diffOf returns what git says about the files of HEAD and of the commit from.
func diffOf(t *testing.T, repo *repotest.Repo, from string) string {
	t.Helper()
	out, err := repo.GitErr(append(files.DiffArguments(files.LargeFile), from, "HEAD")...)
	require.NoError(t, err)
	return out
}

func TestADiffHasTheLinesOfEveryKindOfChange(t *testing.T) {
	repo := repotest.New(t)
	commit := func(name string) {
		repo.Git("add", "--all")
		repo.Git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message="+name)
	}
	repo.Write("changed", "a\n\nb\nc\n")
	repo.Write("binary", "\x00one")
	repo.Write("gone", "-- x\n+++ y\n")
	repo.Write("mode", "m\n")
	require.NoError(t, os.Symlink("target", repo.Dir+"/kind"))
	repo.Write("far", strings.Repeat("same\n", 20)+"old\n")
	commit("one")
	repo.Write("changed", "a\n\nB\nc")
	repo.Write("binary", "\x00two")
	require.NoError(t, os.Remove(repo.Dir+"/gone"))
	require.NoError(t, os.Chmod(repo.Dir+"/mode", 0o755))
	require.NoError(t, os.Remove(repo.Dir+"/kind"))
	repo.Write("kind", "diff --git a/x b/x\n@@ -1 +1 @@\n")
	repo.Write("na\"me \xff", "lat\xe9n\n")
	repo.Write("far", "new\n"+strings.Repeat("same\n", 20)+"changed\n")
	commit("two")
	repo.Git("config", "diff.suppressBlankEmpty", "true")

	found, err := files.ReadDiff(strings.NewReader(diffOf(t, repo, "HEAD~")), files.DefaultDiffLimits())
	require.NoError(t, err)
	type brief struct {
		path, op, modes string
		binary          bool
		added, removed  int64
		hunks           []files.Hunk
	}
	var got []brief
	for _, f := range found {
		assert.Zero(t, f.HunksLeft)
		got = append(got, brief{f.Path, f.Op, f.FromMode + " " + f.ToMode, f.Binary, f.Added, f.Removed, f.Hunks})
	}
	no := []files.Hunk{}
	assert.Equal(t, []brief{
		{"binary", jjbridge.OpModify, "100644 100644", true, 0, 0, no},
		{"changed", jjbridge.OpModify, "100644 100644", false, 2, 2, []files.Hunk{
			{1, 4, 1, 4, []string{" a", " ", "-b", "-c", "+B", "+c", `\ No newline at end of file`}},
		}},
		{"far", jjbridge.OpModify, "100644 100644", false, 2, 1, []files.Hunk{
			{1, 3, 1, 4, []string{"+new", " same", " same", " same"}},
			{18, 4, 19, 4, []string{" same", " same", " same", "-old", "+changed"}},
		}},
		{"gone", jjbridge.OpRemove, "100644 ", false, 0, 2, []files.Hunk{{1, 2, 0, 0, []string{"--- x", "-+++ y"}}}},
		{"kind", jjbridge.OpModify, "120000 100644", false, 2, 1, []files.Hunk{
			{1, 1, 0, 0, []string{"-target", `\ No newline at end of file`}},
			{0, 0, 1, 2, []string{"+diff --git a/x b/x", "+@@ -1 +1 @@"}},
		}},
		{"mode", jjbridge.OpModify, "100644 100755", false, 0, 0, no},
		{"na\"me \xff", jjbridge.OpAdd, " 100644", false, 1, 0, []files.Hunk{{0, 0, 1, 1, []string{"+lat\xe9n"}}}},
	}, got)

	found, err = files.ReadDiff(strings.NewReader(diffOf(t, repo, "HEAD")), files.DefaultDiffLimits())
	require.NoError(t, err)
	assert.Empty(t, found)
}

// What a limit leaves out is counted, and the lines are counted all the same.
func TestADiffIsBounded(t *testing.T) {
	repo := repotest.New(t)
	commit := func(name string) {
		repo.Git("add", "--all")
		repo.Git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message="+name)
	}
	text := func(mark string) string {
		var b strings.Builder
		for range 10 {
			b.WriteString(mark + "\n" + strings.Repeat("same\n", 10))
		}
		return b.String()
	}
	repo.Write("a", text("old"))
	repo.Write("b", text("old"))
	commit("one")
	repo.Write("a", text("new"))
	repo.Write("b", text("new"))
	commit("two")
	out := diffOf(t, repo, "HEAD~")
	read := func(limits files.DiffLimits) (hunks, left []int) {
		found, err := files.ReadDiff(strings.NewReader(out), limits)
		require.NoError(t, err)
		for _, f := range found {
			assert.Equal(t, []int64{10, 10}, []int64{f.Added, f.Removed})
			hunks, left = append(hunks, len(f.Hunks)), append(left, f.HunksLeft)
		}
		return hunks, left
	}
	for _, c := range []struct {
		limits      files.DiffLimits
		hunks, left []int
	}{
		{files.DefaultDiffLimits(), []int{10, 10}, []int{0, 0}},
		{files.DiffLimits{FileLines: 6, FileBytes: 1 << 20, Bytes: 1 << 20}, []int{3, 3}, []int{7, 7}},
		{files.DiffLimits{FileLines: 1000, FileBytes: 99, Bytes: 1 << 20}, []int{3, 3}, []int{7, 7}},   // 23 + 2 * 38
		{files.DiffLimits{FileLines: 1000, FileBytes: 1 << 20, Bytes: 450}, []int{10, 2}, []int{0, 8}}, // 365 of the first file
		{files.DiffLimits{}, []int{0, 0}, []int{10, 10}},
	} {
		hunks, left := read(c.limits)
		assert.Equal(t, c.hunks, hunks, c.limits)
		assert.Equal(t, c.left, left, c.limits)
	}
}

// Output that was cut off, or of another program, is an error and no panic.
func TestACutDiffIsAnError(t *testing.T) {
	repo := repotest.New(t)
	repo.Write("a", "1\n2\n3\n")
	repo.Git("add", "--all")
	repo.Git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message=one")
	repo.Write("a", "1\n22\n3\n")
	repo.Git("add", "--all")
	repo.Git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message=two")
	out := diffOf(t, repo, "HEAD~")
	whole, err := files.ReadDiff(strings.NewReader(out), files.DefaultDiffLimits())
	require.NoError(t, err)
	require.Len(t, whole, 1)
	failed := 0
	for i := range len(out) {
		got, err := files.ReadDiff(strings.NewReader(out[:i]), files.DefaultDiffLimits())
		if err != nil {
			failed++
		} else if i > 0 {
			assert.NotEqual(t, whole, got, "cut at %d", i)
		}
	}
	assert.Greater(t, failed, len(out)/2)
}
