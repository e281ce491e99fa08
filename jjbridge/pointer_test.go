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

func pointer(t *testing.T, dir string, env []string) *snapshot.VCS {
	t.Helper()
	v, err := locate(t, dir, env).Pointer(t.Context())
	require.NoError(t, err)
	return v
}

func TestThePointerIsTheRevisionOfTheWorkingCopy(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		got := pointer(t, repo.Dir, repo.Env)
		var want snapshot.VCS
		switch kind {
		case repotest.Git:
			want = snapshot.VCS{Type: "git", CommitID: repo.Git("rev-parse", "HEAD"), Branch: "main"}
		case repotest.GitWorktree:
			want = snapshot.VCS{Type: "git", CommitID: repo.Git("rev-parse", "HEAD"), Branch: "side", Root: "../linked"}
		default:
			want = atOf(repo)
		}
		if kind == repotest.JJSecondary {
			want.Root = "../second"
		}
		assert.Equal(t, &want, got)
	})
}

// atOf is @ as jj prints it.
func atOf(repo *repotest.Repo) snapshot.VCS {
	ids := strings.Fields(repo.JJ("log", "--revisions=@", "--no-graph", `--template=change_id ++ " " ++ commit_id`))
	operation := repo.JJ("operation", "log", "--limit=1", "--no-graph", "--template=id")
	return snapshot.VCS{Type: "jj", ChangeID: ids[0], CommitID: ids[1], Operation: operation}
}

func TestWithJJThePointerHasWhatIsInTheFilesNow(t *testing.T) {
	t.Parallel()
	repo := repotest.NewKind(t, repotest.JJ)
	before := pointer(t, repo.Dir, repo.Env)
	repo.Write("new.txt", "new\n")
	repo.JJ("bookmark", "create", "--quiet", "--revision=@", "work")
	after := pointer(t, repo.Dir, repo.Env)
	assert.Equal(t, before.ChangeID, after.ChangeID)
	assert.NotEqual(t, before.CommitID, after.CommitID)
	assert.NotEqual(t, before.Operation, after.Operation)
	assert.Equal(t, "work", after.Branch)
	assert.Equal(t, "new\n", repo.Git("show", after.CommitID+":new.txt")+"\n")
}

func TestWithoutAChangeThePointerMakesNoOperation(t *testing.T) {
	t.Parallel()
	repo := repotest.NewKind(t, repotest.JJColocated)
	before := pointer(t, repo.Dir, repo.Env)
	assert.Equal(t, before, pointer(t, repo.Dir, repo.Env))
}

func TestAConflictedCommitSaysSo(t *testing.T) {
	t.Parallel()
	repo := repotest.NewKind(t, repotest.JJ)
	repo.Write("README.md", "one\n")
	repo.JJ("new", "--quiet", "main")
	repo.Write("README.md", "two\n")
	repo.JJ("new", "--quiet", "main+")
	assert.True(t, pointer(t, repo.Dir, repo.Env).Conflicted)
}

func TestADetachedHeadHasNoBranch(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Git("checkout", "--quiet", "--detach")
	got := pointer(t, repo.Dir, repo.Env)
	assert.Empty(t, got.Branch)
	assert.Equal(t, repo.Git("rev-parse", "HEAD"), got.CommitID)
}

// TestTheHeadIsThatOfGit has the forms of HEAD that are not two plain files.
func TestTheHeadIsThatOfGit(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*repotest.Repo){
		"packed": func(repo *repotest.Repo) { repo.Git("pack-refs", "--all", "--prune") },
		"moved after packing": func(repo *repotest.Repo) {
			repo.Git("pack-refs", "--all")
			repo.Git("commit", "--quiet", "--allow-empty", "--message=two")
		},
		"symbolic branch": func(repo *repotest.Repo) {
			repo.Git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
			repo.Git("symbolic-ref", "HEAD", "refs/heads/alias")
		},
		"nested branch": func(repo *repotest.Repo) { repo.Git("checkout", "--quiet", "-b", "a/b") },
		"link": func(repo *repotest.Repo) {
			require.NoError(t, os.Remove(filepath.Join(repo.Dir, ".git", "HEAD")))
			require.NoError(t, os.Symlink("refs/heads/main", filepath.Join(repo.Dir, ".git", "HEAD")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := repotest.New(t, repotest.Commit)
			change(repo)
			commit, branch, err := locate(t, repo.Dir, repo.Env).Head(t.Context())
			require.NoError(t, err)
			assert.Equal(t, repo.Git("rev-parse", "HEAD"), commit)
			assert.Equal(t, strings.TrimPrefix(repo.Git("rev-parse", "--symbolic-full-name", "HEAD"), "refs/heads/"), branch)
		})
	}
}

func TestBeforeTheFirstCommitThereIsNoPointer(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	assert.Nil(t, pointer(t, repo.Dir, repo.Env))
}

func TestTheRootNamesNoMachine(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	for path, want := range map[string]string{
		filepath.Join(repo.Dir, ".worktrees", "inside"): ".worktrees/inside",
		filepath.Join(repo.Home, "beside"):              "../home/beside",
		filepath.Join(t.TempDir(), "elsewhere", "far"):  "far",
	} {
		repo.Git("worktree", "add", "--quiet", "--detach", path)
		assert.Equal(t, want, pointer(t, path, repo.Env).Root)
	}
}

func TestTheRootInABareRepositoryIsSeenFromItsFolder(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Bare, repotest.Commit)
	linked := filepath.Join(filepath.Dir(repo.Dir), "feature")
	repo.Git("worktree", "add", "--quiet", "--detach", linked, "main")
	assert.Equal(t, "feature", pointer(t, linked, repo.Env).Root)
}

func TestTheTagOfAFrameHasTheNamesOfSmithers(t *testing.T) {
	t.Parallel()
	root, operation := "../side", "0f"
	assert.Nil(t, jjbridge.TagOf(nil))
	assert.Equal(t, &jjbridge.Tag{VCSType: "jj", VCSPointer: "c1", VCSRoot: &root, JJOperationID: &operation},
		jjbridge.TagOf(&snapshot.VCS{Type: "jj", ChangeID: "k", CommitID: "c1", Operation: operation, Root: root}))
	main := ""
	assert.Equal(t, &jjbridge.Tag{VCSType: "git", VCSPointer: "c2", VCSRoot: &main},
		jjbridge.TagOf(&snapshot.VCS{Type: "git", CommitID: "c2"}))
}
