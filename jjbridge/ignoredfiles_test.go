package jjbridge_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
)

func TestIgnoredFilesAreCapturedWhereThatIsAskedFor(t *testing.T) {
	t.Parallel()
	for _, kind := range []repotest.Kind{repotest.Git, repotest.GitWorktree} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			repo := repotest.NewKind(t, kind)
			repo.Write(".gitignore", "gen/\n*.log\n")
			repo.Write("gen/a", "a\n")
			repo.Write("gen/deep/b", "b\n")
			repo.Write("gen/key", "a secret\n")
			repo.Write("x.log", "not asked for\n")
			secrets := &jjbridge.SecretSearch{
				Rules: "1", Named: func(path string) bool { return path == "gen/key" },
				Find: func(string, []byte) (string, bool) { return "", false },
			}
			plain := capture(t, repo, jjbridge.CaptureOptions{Secrets: secrets})
			asked := jjbridge.CaptureOptions{Secrets: secrets, Include: []string{"/gen/", "README.md"}}
			assert.Equal(t, []string{".gitignore", "README.md", "notes/todo.txt", "src/main.go"}, paths(repo, plain))

			with := capture(t, repo, asked)

			assert.Equal(t, []string{".gitignore", "README.md", "gen/a", "gen/deep/b", "notes/todo.txt", "src/main.go"}, paths(repo, with))
			assert.Equal(t, []snapshot.LeftOut{{Path: "gen/key", Reason: snapshot.LeftSecret}}, with.LeftOut)
			assert.Equal(t, plain.Tree, capture(t, repo, jjbridge.CaptureOptions{Secrets: secrets}).Tree, "nobody asks for it any more")
			asked.Scope = snapshot.ScopeTracked
			assert.NotContains(t, paths(repo, capture(t, repo, asked)), "gen/a", "a scope of tracked files has none")
		})
	}
}

func TestARestoreRemovesNoIgnoredFile(t *testing.T) {
	t.Parallel()
	repo := repotest.NewKind(t, repotest.Git)
	repo.Write(".gitignore", "gen/\n")
	before, err := workspace(t, repo).Capture(t.Context(), jjbridge.CaptureOptions{})
	require.NoError(t, err)
	store(t, repo, before)
	require.NoError(t, before.Close())
	repo.Write("gen/later", "later\n")
	repo.Write("new.txt", "new\n")
	now, err := workspace(t, repo).Capture(t.Context(), jjbridge.CaptureOptions{Include: []string{"gen/"}})
	require.NoError(t, err)
	store(t, repo, now)
	t.Cleanup(func() { require.NoError(t, now.Close()) })

	plan, err := workspace(t, repo).Plan(t.Context(), now, before.VCS.Tree)

	require.NoError(t, err)
	assert.Equal(t, []jjbridge.PathChange{{Path: "new.txt", Op: jjbridge.OpRemove}}, plan.Changes)
	assert.False(t, plan.Settled(), "the next capture has the file that stays")
	assert.True(t, now.Included("gen/later"))
	assert.False(t, now.Included("new.txt"))
}
