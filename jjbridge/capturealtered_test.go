package jjbridge_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
)

// lfs makes git store what git-lfs would: a pointer in place of the file.
func lfs(repo *repotest.Repo) {
	repo.Git("config", "filter.lfs.clean", `printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %s\n' $(sha256sum | cut -c-64) 1`)
	repo.Git("config", "filter.lfs.smudge", "cat")
	repo.Git("config", "filter.lfs.required", "true")
}

func TestWhatFiltersAlterIsNamed(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	lfs(repo)
	repo.Git("config", "filter.upper.clean", "tr a-z A-Z")
	repo.Write(".gitattributes", "*.bin filter=lfs\n*.up filter=upper\n*.none filter=nobody\n*.id ident\n*.txt text eol=lf\n*.u16 working-tree-encoding=UTF-16\n*.raw -text\n")
	repo.Write("large.bin", "content")
	repo.Write("some.up", "text\n")
	repo.Write("same.up", "TEXT\n")
	repo.Write("x.none", "text\n")
	repo.Write("x.id", "$Id: 0123 $\n")
	repo.Write("mixed.txt", "one\r\ntwo\n")
	repo.Write("unix.txt", "one\ntwo\n")
	repo.Write("same.u16", "\xff\xfea\x00\n\x00")
	repo.Write("wide.u16", "\xfe\xff\x00a\x00\n")
	repo.Write("dos.raw", "one\r\n")
	want := []snapshot.AlteredFile{
		{Path: "large.bin", By: "lfs"},
		{Path: "mixed.txt", By: "eol"},
		{Path: "some.up", By: "upper"},
		{Path: "wide.u16", By: "encoding"},
		{Path: "x.id", By: "ident"},
	}
	v := capturedAs(t, repo)
	assert.Equal(t, expected(t, repo), v.Tree.String())
	assert.Equal(t, want, v.Altered)
	assert.Contains(t, repo.Git("show", v.Tree.String()+":large.bin"), "oid sha256:")

	repo.Write("unix.txt", "one\r\n")
	remove(t, repo, "some.up")
	want = append(want[:2:2], snapshot.AlteredFile{Path: "unix.txt", By: "eol"}, want[3], want[4])
	assert.Equal(t, want, capturedAs(t, repo).Altered)
	assert.Equal(t, want, capturedAs(t, repo).Altered, "also those that did not change now")
	repo.Git("add", "--all")
	assert.Equal(t, want, capturedAs(t, repo).Altered)

	remove(t, repo, ".gitattributes")
	assert.Empty(t, capturedAs(t, repo).Altered)
}

func TestLineEndingsThatTheUserHasNormalizedAreNamed(t *testing.T) {
	t.Parallel()
	for value, altered := range map[string][]string{
		"true":  {"README.md", "notes/todo.txt", "src/main.go", "unix.txt"}, // they come back with CRLF
		"input": {"dos.txt"},                                                // it comes back with LF
	} {
		t.Run(value, func(t *testing.T) {
			t.Parallel()
			repo := repotest.New(t, repotest.Commit)
			repo.Git("config", "core.autocrlf", value)
			repo.Write("dos.txt", "one\r\ntwo\r\n")
			repo.Write("unix.txt", "one\ntwo\n")
			repo.Write("binary", "\x00\r\n")
			v := capturedAs(t, repo)
			assert.Equal(t, expected(t, repo), v.Tree.String())
			assert.Equal(t, altered, alteredPaths(v))
		})
	}
}

func TestAttributesOutsideOfTheWorkingCopyCount(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	lfs(repo)
	require.NoError(t, os.MkdirAll(filepath.Join(repo.GitDir, "info"), 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(repo.GitDir, "info", "attributes"), []byte("*.bin filter=lfs\n"), 0o600))
	repo.Write("large.bin", "content")
	v := capturedAs(t, repo)
	assert.Equal(t, []snapshot.AlteredFile{{Path: "large.bin", By: "lfs"}}, v.Altered)
	assert.Equal(t, expected(t, repo), v.Tree.String())
}
