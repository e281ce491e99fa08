package jjbridge_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
)

// markers is a search for secrets: a secret is the text "hush".
type markers struct {
	rules    string
	searched []string // the paths of the files that were searched
	told     []string // the warnings of the captures
}

// options are the options of a capture that searches.
func (m *markers) options() jjbridge.CaptureOptions {
	m.searched, m.told = nil, nil
	return jjbridge.CaptureOptions{
		Warn: func(err error) { m.told = append(m.told, err.Error()) },
		Secrets: &jjbridge.SecretSearch{
			Rules: m.rules,
			Named: func(path string) bool { return filepath.Base(path) == ".env" },
			Find: func(path string, content []byte) (string, bool) {
				m.searched = append(m.searched, path)
				return "marker", bytes.Contains(content, []byte("hush"))
			},
		},
	}
}

// aged counts the calls of age.
var aged atomic.Int64

// age sets the times of files to about an hour ago, so that captures need not read them again. Each call sets another second:
// git compares whole seconds, and takes a file that was written twice in a second, and is as long, for unchanged.
func age(t *testing.T, repo *repotest.Repo, names ...string) {
	t.Helper()
	past := time.Now().Add(-time.Hour).Add(time.Duration(aged.Add(1)%1000) * time.Second)
	for _, name := range names {
		require.NoError(t, os.Chtimes(filepath.Join(repo.Dir, name), past, past))
	}
}

// secretsOf are the records of files that were left out because of secrets.
func secretsOf(paths ...string) []snapshot.LeftOut {
	var left []snapshot.LeftOut
	for _, path := range paths {
		left = append(left, snapshot.LeftOut{Path: path, Reason: snapshot.LeftSecret})
	}
	return left
}

// requireNoObject checks that no object that the repository has, or that a quarantine holds, has the text.
func requireNoObject(t *testing.T, repo *repotest.Repo, text string) {
	t.Helper()
	assert.NotContains(t, repo.Git("cat-file", "--batch-all-objects", "--batch", "--buffer"), text)
	left, err := filepath.Glob(filepath.Join(repo.GitDir, "smithers", "worktrees", "*", "objects-*"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestAnUntrackedFileWithASecretIsLeftOut(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		search := &markers{rules: "1"}
		repo.Write("deep/er/notes.txt", "say hush\n")
		repo.Write("deep/.env", "A=1\n")
		repo.Write("new.txt", "1\n")
		repo.Write("README.md", "say hush, too\n")
		v := capture(t, repo, search.options())
		assert.Equal(t, secretsOf("deep/.env", "deep/er/notes.txt"), v.LeftOut)
		assert.Equal(t, []string{"README.md", "new.txt", "notes/todo.txt", "src/main.go"}, paths(repo, v))
		assert.Equal(t, "say hush, too", repo.Git("show", v.Tree.String()+":README.md"), "what the user tracks is captured")
		assert.Equal(t, []string{
			"README.md is tracked, so frames have it: it has a secret (marker)",
			"left out deep/.env: it is named like a file of secrets",
			"left out deep/er/notes.txt: it has a secret (marker)",
		}, search.told)
		if !kind.IsJJ() { // jj itself has stored the file
			requireNoObject(t, repo, "say hush\n")
		}

		again := capture(t, repo, search.options())
		assert.Equal(t, v.Tree, again.Tree)
		assert.Equal(t, v.LeftOut, again.LeftOut)
		assert.Empty(t, search.told, "each warning comes once")

		repo.Write("deep/er/notes.txt", "nothing\n")
		v = capture(t, repo, search.options())
		assert.Contains(t, paths(repo, v), "deep/er/notes.txt")
		assert.Equal(t, secretsOf("deep/.env"), v.LeftOut)
		assert.Empty(t, search.told)
	})
}

// A search costs what changed: a file is searched again if it changes, or if the rules change.
func TestAFileIsSearchedOnce(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		search := &markers{rules: "1"}
		repo.Write("a.txt", "hush\n")
		repo.Write("b.txt", "1\n")
		age(t, repo, "a.txt", "b.txt")
		v := capture(t, repo, search.options())
		assert.Equal(t, []string{"a.txt", "b.txt"}, search.searched)
		again := capture(t, repo, search.options())
		assert.Empty(t, search.searched)
		assert.Equal(t, v.LeftOut, again.LeftOut)
		repo.Write("c.txt", "1\n")
		repo.Write("b.txt", "22\n")
		age(t, repo, "b.txt", "c.txt")
		v = capture(t, repo, search.options())
		assert.Equal(t, []string{"b.txt", "c.txt"}, search.searched)
		assert.Equal(t, secretsOf("a.txt"), v.LeftOut)
		assert.NotContains(t, paths(repo, v), "a.txt")
		search.rules = "2"
		capture(t, repo, search.options())
		assert.Equal(t, []string{"a.txt", "b.txt", "c.txt"}, search.searched)

		v = capturedAs(t, repo)
		assert.Equal(t, []string{"README.md", "a.txt", "b.txt", "c.txt", "notes/todo.txt", "src/main.go"}, paths(repo, v),
			"nobody asks for the search")
		assert.Equal(t, "hush", repo.Git("show", v.Tree.String()+":a.txt"))
		v = capture(t, repo, search.options())
		if !kind.IsJJ() { // with jj, the tree says which files the search has seen
			assert.Equal(t, []string{"a.txt", "b.txt", "c.txt"}, search.searched, "a capture without a search proves nothing")
		}
		assert.Equal(t, secretsOf("a.txt"), v.LeftOut)
		assert.Empty(t, search.told)
	})
}

// git has a file as soon as the user adds it. The content of a file that was left out is in no tree yet.
func TestASecretThatTheUserAddsToGitIsKept(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	search := &markers{rules: "1"}
	repo.Write("a.txt", "hush\n")
	repo.Write(".env", "1\n")
	age(t, repo, "a.txt", ".env")
	capture(t, repo, search.options())
	repo.Git("add", "a.txt", ".env")
	v := capture(t, repo, search.options())
	assert.Empty(t, v.LeftOut)
	assert.Equal(t, expected(t, repo), v.Tree.String())
	assert.Equal(t, []string{
		".env is tracked, so frames have it: it is named like a file of secrets",
		"a.txt is tracked, so frames have it: it has a secret (marker)",
	}, search.told)
	capture(t, repo, search.options())
	assert.Empty(t, search.told)

	repo.Write("a.txt", "hush, hush\n")
	age(t, repo, "a.txt")
	v = capture(t, repo, search.options())
	assert.Equal(t, "hush, hush", repo.Git("show", v.Tree.String()+":a.txt"))
	repo.Git("rm", "--quiet", "--cached", "a.txt", "-f")
	v = capture(t, repo, search.options())
	assert.Equal(t, secretsOf("a.txt"), v.LeftOut)
	assert.NotContains(t, paths(repo, v), "a.txt")
	assert.Equal(t, []string{"left out a.txt: it has a secret (marker)"}, search.told)

	repo.Git("commit", "--quiet", "--message=more")
	repo.Git("rm", "--quiet", "--cached", ".env")
	v = capture(t, repo, search.options())
	assert.Equal(t, secretsOf(".env", "a.txt"), v.LeftOut, "HEAD still has one of them")
	assert.Equal(t, []string{"README.md", "notes/todo.txt", "src/main.go"}, paths(repo, v))
}

// What git would store counts, and not what the file has.
func TestWhatAFilterStoresIsSearched(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Git("config", "filter.hide.clean", "sed s/hush/-/")
	repo.Git("config", "filter.tell.clean", "sed s/-/hush/")
	repo.Write(".gitattributes", "*.hide filter=hide\n*.tell filter=tell\n*.txt text\n")
	repo.Git("add", ".gitattributes")
	repo.Write("a.hide", "hush 1\n")
	repo.Write("b.tell", "2 -\n")
	repo.Write("c.txt", "hush 3\r\n")
	repo.Write("d.txt", "4\r\n")
	search := &markers{rules: "1"}
	v := capture(t, repo, search.options())
	assert.Equal(t, secretsOf("b.tell", "c.txt"), v.LeftOut)
	assert.Equal(t, []string{".gitattributes", "README.md", "a.hide", "d.txt", "notes/todo.txt", "src/main.go"}, paths(repo, v))
	requireNoObject(t, repo, "hush")
	assert.Equal(t, v.LeftOut, capture(t, repo, search.options()).LeftOut)
}

// A link has no content of its own. What it leads to is searched where it is.
func TestALinkToASecretIsCaptured(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, _ repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		repo.Write("a.txt", "hush\n")
		require.NoError(t, os.Symlink("a.txt", filepath.Join(repo.Dir, "link")))
		require.NoError(t, os.Symlink("a.txt", filepath.Join(repo.Dir, ".env")))
		v := capture(t, repo, (&markers{rules: "1"}).options())
		assert.Equal(t, secretsOf("a.txt"), v.LeftOut)
		assert.Equal(t, []string{".env", "README.md", "link", "notes/todo.txt", "src/main.go"}, paths(repo, v))
	})
}

// jj tracks every file. A file belongs to the user's history when a parent of the working-copy commit has it.
func TestWithJJASecretIsTrackedOnceItIsCommitted(t *testing.T) {
	t.Parallel()
	inEachJJ(t, func(t *testing.T, repo *repotest.Repo) {
		t.Helper()
		search := &markers{rules: "1"}
		repo.Write("a.txt", "hush\n")
		assert.Equal(t, secretsOf("a.txt"), capture(t, repo, search.options()).LeftOut)
		repo.JJ("commit", "--quiet", "--message=mine")
		v := capture(t, repo, search.options())
		assert.Empty(t, v.LeftOut)
		assert.Contains(t, paths(repo, v), "a.txt")
		repo.Write("a.txt", "hush, hush\n")
		v = capture(t, repo, search.options())
		assert.Empty(t, v.LeftOut)
		assert.Equal(t, []string{"a.txt is tracked, so frames have it: it has a secret (marker)"}, search.told)
	})
}

func TestInAConflictOfJJASecretIsLeftOutToo(t *testing.T) {
	t.Parallel()
	inEachJJ(t, func(t *testing.T, repo *repotest.Repo) {
		t.Helper()
		search := &markers{rules: "1"}
		repo.JJ("new", "--quiet", "main", "--message=left")
		remove(t, repo, "README.md")
		repo.Write("deep/theirs.txt", "hush\n")
		repo.JJ("bookmark", "create", "--quiet", "left", "--revision=@")
		repo.JJ("new", "--quiet", "main", "--message=right")
		repo.Write("README.md", "right\n")
		repo.JJ("bookmark", "create", "--quiet", "right", "--revision=@")
		repo.JJ("new", "--quiet", "left", "right")
		repo.Write("deep/mine.txt", "hush\n")
		repo.Write("deep/.env", "1\n")
		v := capture(t, repo, search.options())
		require.True(t, v.Conflicted)
		assert.Equal(t, secretsOf("deep/.env", "deep/mine.txt"), v.LeftOut)
		assert.Equal(t, []string{"README.md", "deep/theirs.txt", "notes/todo.txt", "src/main.go"}, paths(repo, v))
		v = capture(t, repo, search.options())
		assert.Equal(t, secretsOf("deep/.env", "deep/mine.txt"), v.LeftOut)
		assert.Empty(t, search.told)

		// A commit on top of the conflict has a parent whose tree has the sides apart. One side has no README.md.
		repo.JJ("new", "--quiet")
		repo.Write("README.md", "hush, resolved\n")
		v = capture(t, repo, search.options())
		require.False(t, v.Conflicted)
		assert.Empty(t, v.LeftOut, "the parent has them all")
		assert.Equal(t, []string{"README.md", "deep/.env", "deep/mine.txt", "deep/theirs.txt", "notes/todo.txt", "src/main.go"}, paths(repo, v))
	})
}

// A warning names the files that are few.
func TestManySecretsAreThreeWarnings(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	search := &markers{rules: "1"}
	for name := range strings.SplitSeq("abcde", "") {
		repo.Write(name+"/.env", "1\n")
	}
	v := capture(t, repo, search.options())
	assert.Len(t, v.LeftOut, 5)
	assert.Len(t, search.told, 4)
	assert.Equal(t, "left out 2 more files with secrets", search.told[3])
}

// Without this, a restore would write a captured file over one that no frame has.
func TestARestoreNeverWritesOverASecret(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, _ repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		search := &markers{rules: "1"}
		before := capture(t, repo, search.options())
		repo.Write("config.txt", "plain\n")
		older := capture(t, repo, search.options())
		repo.Write("config.txt", "hush\n")

		w := workspace(t, repo)
		captured, err := w.Capture(t.Context(), search.options())
		require.NoError(t, err)
		defer captured.Close() //nolint:errcheck // the test is over
		plan, err := w.Plan(t.Context(), captured, older.Tree, older.LeftOut...)
		require.NoError(t, err)
		assert.Equal(t, []jjbridge.Refusal{{Path: "config.txt", Reason: "a file that was not captured is in the way (secret)"}}, plan.Refused)
		require.Error(t, w.Restore(t.Context(), plan))

		plan, err = w.Plan(t.Context(), captured, before.Tree, before.LeftOut...)
		require.NoError(t, err)
		assert.Empty(t, plan.Refused)
		assert.Empty(t, plan.Changes)
		require.NoError(t, captured.Close())
		left := captured.VCS.LeftOut

		// The file has no secret any more, so it is captured, and a frame without it names it.
		target := captured.VCS.Tree
		repo.Write("config.txt", "plain again\n")
		captured, err = w.Capture(t.Context(), search.options())
		require.NoError(t, err)
		plan, err = w.Plan(t.Context(), captured, target, left...)
		require.NoError(t, err)
		assert.Empty(t, plan.Changes)
		require.NoError(t, captured.Close())
		data, err := os.ReadFile(filepath.Join(repo.Dir, "config.txt"))
		require.NoError(t, err)
		assert.Equal(t, "plain again\n", string(data))
	})
}
