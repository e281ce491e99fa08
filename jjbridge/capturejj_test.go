package jjbridge_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
)

// inEachJJ is repotest.EachKind for jj's kinds.
func inEachJJ(t *testing.T, test func(t *testing.T, repo *repotest.Repo)) {
	t.Helper()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		if kind.IsJJ() {
			test(t, repo)
		}
	})
}

// operations is how many operations jj has done.
func operations(repo *repotest.Repo) int {
	return strings.Count(repo.JJ("op", "log", "--ignore-working-copy", "--no-graph", "-T", `id ++ "\n"`), "\n")
}

func TestACaptureIsAtMostOneOperationOfJJ(t *testing.T) {
	t.Parallel()
	inEachJJ(t, func(t *testing.T, repo *repotest.Repo) {
		t.Helper()
		before := operations(repo)
		repo.Write("new", "1\n")
		first := capturedAs(t, repo)
		assert.Equal(t, before+1, operations(repo))
		assert.Equal(t, first, capturedAs(t, repo))
		assert.Equal(t, before+1, operations(repo), "nothing has changed")
		assert.Equal(t, repo.JJ("op", "log", "--ignore-working-copy", "--no-graph", "-n1", "-T", "id"), first.Operation)
		assert.Equal(t, repo.JJ("log", "-r@", "--no-graph", "-T", `change_id ++ "@" ++ commit_id`), first.ChangeID+"@"+first.CommitID)
	})
}

func TestACaptureRunsJJOnceAndTwiceWhereThereIsAConflict(t *testing.T) {
	t.Parallel()
	repo := repotest.NewKind(t, repotest.JJ)
	count := countJJ(t, repo, repotest.JJ)
	capturedAs(t, repo)
	assert.Equal(t, 1, count())
	conflict(repo)
	before := count()
	capturedAs(t, repo)
	assert.Equal(t, 2, count()-before)
}

func TestWhatJJRefusesIsNamed(t *testing.T) {
	t.Parallel()
	inEachJJ(t, func(t *testing.T, repo *repotest.Repo) {
		t.Helper()
		repo.JJ("config", "set", "--repo", "snapshot.max-new-file-size", "1000")
		repo.Write("with: colon (2 bytes)/large", strings.Repeat("x", 1001))
		repo.Write("small", "x")
		v := capturedAs(t, repo)
		assert.Equal(t, []snapshot.LeftOut{{Path: "with: colon (2 bytes)/large", Reason: snapshot.LeftByJJ, Bytes: 1001}}, v.LeftOut)
		assert.Contains(t, paths(repo, v), "small")
	})
}

// conflict makes @ a commit with a conflict in README.md.
func conflict(repo *repotest.Repo) {
	repo.JJ("new", "--quiet", "main", "--message=left")
	repo.Write("README.md", "left\n")
	repo.JJ("bookmark", "create", "--quiet", "left", "--revision=@")
	repo.JJ("new", "--quiet", "main", "--message=right")
	repo.Write("README.md", "right\n")
	repo.JJ("bookmark", "create", "--quiet", "right", "--revision=@")
	repo.JJ("new", "--quiet", "left", "right")
}

func TestAConflictIsCapturedAsItStands(t *testing.T) {
	t.Parallel()
	inEachJJ(t, func(t *testing.T, repo *repotest.Repo) {
		t.Helper()
		conflict(repo)
		repo.Write("new", "1\r\n")
		repo.Write(".gitattributes", "new text eol=lf\n")
		require.NoError(t, os.Symlink("new", filepath.Join(repo.Dir, "link")))
		before := operations(repo)
		v := capturedAs(t, repo)
		assert.LessOrEqual(t, operations(repo), before+1)
		assert.True(t, v.Conflicted)
		assert.Equal(t, []string{".gitattributes", "README.md", "link", "new", "notes/todo.txt", "src/main.go"}, paths(repo, v))
		marked := repo.Git("show", v.Tree.String()+":README.md")
		assert.Contains(t, marked, "<<<<<<<")
		data, err := os.ReadFile(filepath.Join(repo.Dir, "README.md"))
		require.NoError(t, err)
		assert.Equal(t, strings.TrimSuffix(string(data), "\n"), marked)
		assert.Equal(t, "1\r", repo.Git("show", v.Tree.String()+":new"), "byte for byte, as jj stores files")
		assert.Equal(t, v, capturedAs(t, repo))

		remove(t, repo, "new")
		repo.Write("README.md", "resolved\n")
		v = capturedAs(t, repo)
		assert.False(t, v.Conflicted)
		assert.Equal(t, "resolved", repo.Git("show", v.Tree.String()+":README.md"))
	})
}

func TestAStaleWorkspaceIsAnErrorThatSaysSo(t *testing.T) {
	t.Parallel()
	repo := repotest.NewKind(t, repotest.JJSecondary)
	first := *repo
	first.Dir = filepath.Join(filepath.Dir(repo.Dir), "jj")
	first.JJ("rebase", "--quiet", "--revisions=second@", "--destination=root()")
	_, err := workspace(t, repo).Capture(t.Context(), jjbridge.CaptureOptions{})
	require.ErrorIs(t, err, jjbridge.ErrStale)
	assert.ErrorContains(t, err, "update-stale")
}

func TestTheUsersSettingsOfJJChangeNothing(t *testing.T) {
	t.Parallel()
	repo := repotest.NewKind(t, repotest.JJColocated)
	repo.Write("new", "1\n")
	want := capturedAs(t, repo)
	settings := "[ui]\ncolor = \"always\"\npager = \"false\"\npaginate = \"auto\"\ndefault-command = \"nothing\"\n" +
		"[aliases]\nlog = [\"version\"]\nfile = [\"version\"]\n[template-aliases]\n'conflict' = '\"x\"'\n[templates]\nlog = '\"x\"'\n[revset-aliases]\n'immutable_heads()' = \"all()\"\n"
	require.NoError(t, os.WriteFile(filepath.Join(repo.Home, "jj.toml"), []byte(settings), 0o600))
	assert.Equal(t, want, capturedAs(t, repo))
}
