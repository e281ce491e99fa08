package jjbridge_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
)

// TestNamesThatGitRefusesAreLeftOutAndNamed: the captured tree is as if the files were not there.
func TestNamesThatGitRefusesAreLeftOutAndNamed(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		before := capture(t, repo, jjbridge.CaptureOptions{})
		var want []snapshot.LeftOut
		for _, name := range []string{".GIT/config", ".g\u200cit", "deep/.Git ./hooks/x", "deep/GIT~1/x", "git~1"} {
			repo.Write(name, "a file\n")
		}
		for _, path := range []string{".GIT/", ".g\u200cit", "deep/.Git ./", "deep/GIT~1/", "git~1"} {
			want = append(want, snapshot.LeftOut{Path: path, Reason: snapshot.LeftUnreadable})
		}
		if kind.IsJJ() {
			repo.Damaged() // jj stores such names in its own commits, which git fsck reports
		}
		v := capture(t, repo, jjbridge.CaptureOptions{})
		assert.Equal(t, want, v.LeftOut)
		assert.Equal(t, before.Tree, v.Tree)

		repo.Write("deep/.gitx/fine", "a file\n")
		repo.Write("git~10", "a file\n")
		v = capture(t, repo, jjbridge.CaptureOptions{})
		assert.Equal(t, want, v.LeftOut)
		assert.Equal(t, "deep/.gitx/fine\ngit~10", repo.Git("diff-tree", "-r", "--name-only", before.Tree.String(), v.Tree.String()))
	})
}

// TestAFileThatCannotBeEncodedIsLeftOutAlone: git refuses a file without the mark that its encoding requires.
func TestAFileThatCannotBeEncodedIsLeftOutAlone(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Write(".gitattributes", "*.txt working-tree-encoding=UTF-16\n")
	repo.Write("good.txt", "\xff\xfeh\x00i\x00\n\x00")
	repo.Write("bad.txt", "no mark of the order of bytes\n")
	repo.Write("other", "a file\n")
	v := capture(t, repo, jjbridge.CaptureOptions{})
	assert.Equal(t, []snapshot.LeftOut{{Path: "bad.txt", Reason: snapshot.LeftUnreadable}}, v.LeftOut)
	assert.Equal(t, "hi", repo.Git("show", v.Tree.String()+":good.txt"))
	assert.Equal(t, "a file", repo.Git("show", v.Tree.String()+":other"))
}

// TestFilesOfAnEncodingWithoutANameAreLeftOutAlone: git gives up at the first such file, in git status, too, and does not name it.
func TestFilesOfAnEncodingWithoutANameAreLeftOutAlone(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Write("touched.u", "tracked\n")
	repo.Write("same.u", "tracked\n")
	repo.Write("plain", "tracked\n")
	repo.Git("add", ".")
	repo.Git("commit", "--quiet", "--message=files")
	repo.Write(".gitattributes", "*.u working-tree-encoding\n*.fine -working-tree-encoding\n")
	repo.Write("touched.u", "changed\n")
	repo.Write("new.u", "untracked\n")
	repo.Write("a.fine", "a file\n")
	repo.Write("plain", "changed\n")
	before := repo.Git("ls-files", "--debug")
	for range 2 {
		v := capture(t, repo, jjbridge.CaptureOptions{})
		left := make(map[string]string)
		for _, one := range v.LeftOut {
			left[one.Path] = one.Reason
		}
		assert.Equal(t, snapshot.LeftUnreadable, left["touched.u"])
		assert.Equal(t, snapshot.LeftUnreadable, left["new.u"])
		assert.Equal(t, "changed", repo.Git("show", v.Tree.String()+":plain"))
		assert.Equal(t, "a file", repo.Git("show", v.Tree.String()+":a.fine"))
	}
	assert.Equal(t, before, repo.Git("ls-files", "--debug"), "the user's index is as it was")

	repo.Write(".gitattributes", "")
	v := capture(t, repo, jjbridge.CaptureOptions{})
	assert.Empty(t, v.LeftOut)
	assert.Equal(t, expected(t, repo), v.Tree.String())
}
