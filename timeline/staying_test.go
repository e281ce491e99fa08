package timeline_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/back/travel"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/timeline"
)

// travelWith takes the run back to before b, with a workflow file.
func travelWith(t *testing.T, s *timeline.Store, repo *repotest.Repo, file string) *travel.Result {
	t.Helper()
	done, err := travel.Travel(t.Context(), s, travel.Request{
		Run: "run", Node: "b", Redefinition: travel.Redefinition{File: filepath.Join(repo.Dir, file)},
	})
	require.NoError(t, err)
	return done
}

func TestATravelLeavesTheWorkflowFileAsItIs(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, _ repotest.Kind, repo *repotest.Repo) {
		t.Helper()
		s := open(t, repo)
		afterA, _, _ := worked(t, s, repo)
		repo.Write("a.txt", "mended\n")
		done := travelWith(t, s, repo, "a.txt")
		want := afterA
		want["a.txt"] = "- mended\n"
		assert.Equal(t, want, filesIn(t, repo.Dir))
		assert.Equal(t, []string{"a.txt"}, done.Files.Stayed)
		assert.NotContains(t, opsOf(done.Files.Changes), "a.txt")

		again := travelWith(t, s, repo, "a.txt")
		assert.Empty(t, again.Files.Changes, "the frame has the file as it is")
		assert.Equal(t, vcsAt(t, s, "run:8").Tree, vcsAt(t, s, "run").Tree)
	})
}

func TestATravelThatWouldChangeTheWorkflowFileAloneKeepsItInItsFrame(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	afterA, _, _ := worked(t, s, repo)
	travelWith(t, s, repo, "")
	repo.Write("src/flow.yaml", "mine\n")
	done := travelWith(t, s, repo, "src/flow.yaml")
	assert.Empty(t, done.Files.Changes)
	assert.Equal(t, []string{"src/flow.yaml"}, done.Files.Stayed)
	afterA["src/flow.yaml"] = "- mine\n"
	assert.Equal(t, afterA, filesIn(t, repo.Dir))
	repo.Write("src/flow.yaml", "overwritten\n")
	_, err := files.Restore(t.Context(), s, files.RestoreRequest{From: "run:8"})
	require.NoError(t, err)
	assert.Equal(t, afterA, filesIn(t, repo.Dir))
}

func TestATravelLeavesTheLineEndsOfTheWorkflowFile(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	repo.Write("src/.gitattributes", "*.yaml eol=crlf\n")
	repo.Write("src/flow.yaml", "broken\r\n")
	repo.Write("src/other.yaml", "other\r\n")
	worked(t, s, repo)
	repo.Write("src/flow.yaml", "mended\n")
	repo.Write("src/other.yaml", "other\n")
	require.NoError(t, os.Remove(filepath.Join(repo.Dir, "src/.gitattributes")))
	travelWith(t, s, repo, "src/flow.yaml")
	files := filesIn(t, repo.Dir)
	assert.Equal(t, "- mended\n", files["src/flow.yaml"])
	assert.Equal(t, "- other\r\n", files["src/other.yaml"], "as git checks it out")
}

func TestATravelLeavesTheWorkflowFileWhateverTheFrameHasInItsPlace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file  string // is named
		make  func(t *testing.T, repo *repotest.Repo)
		stays []string
	}{
		"a folder with files": {"src", func(t *testing.T, repo *repotest.Repo) {
			t.Helper()
			require.NoError(t, os.RemoveAll(filepath.Join(repo.Dir, "src")))
			repo.Write("src", "mine\n")
		}, []string{"src"}},
		"a file in place of its folder": {"a.txt/flow.yaml", func(t *testing.T, repo *repotest.Repo) {
			t.Helper()
			require.NoError(t, os.Remove(filepath.Join(repo.Dir, "a.txt")))
			repo.Write("a.txt/flow.yaml", "mine\n")
		}, []string{"a.txt/flow.yaml"}},
		"another spelling of its name": {"A.TXT", func(t *testing.T, repo *repotest.Repo) {
			t.Helper()
			repo.Write("a.txt", "mine\n")
			repo.Write(".git/info/exclude", "A.TXT\n")
			// As a file system does that folds case.
			require.NoError(t, os.Link(filepath.Join(repo.Dir, "a.txt"), filepath.Join(repo.Dir, "A.TXT")))
		}, []string{"A.TXT"}},
		"an ignored file": {"c.txt", func(t *testing.T, repo *repotest.Repo) {
			t.Helper()
			repo.Write(".git/info/exclude", "c.txt\n")
			repo.Write("c.txt", "mine\n")
		}, nil},
		"nothing, and links lead to it": {"to/flow.yaml", func(t *testing.T, repo *repotest.Repo) {
			t.Helper()
			repo.Write("flows/real.yaml", "mine\n")
			require.NoError(t, os.Symlink("real.yaml", filepath.Join(repo.Dir, "flows", "flow.yaml")))
			require.NoError(t, os.Symlink(filepath.Join(repo.Dir, "flows"), filepath.Join(repo.Dir, "to")))
		}, []string{"to", "flows/flow.yaml", "flows/real.yaml"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := repotest.New(t, repotest.Commit)
			s := open(t, repo)
			afterA, _, _ := worked(t, s, repo)
			c.make(t, repo)
			done := travelWith(t, s, repo, c.file)
			assert.Equal(t, c.stays, done.Files.Stayed)
			kept := filepath.Join(repo.Dir, c.file)
			if c.file == "A.TXT" { // which no restore touches here
				kept = filepath.Join(repo.Dir, "a.txt")
			}
			data, err := os.ReadFile(kept)
			require.NoError(t, err)
			assert.Equal(t, "mine\n", string(data))
			assert.Equal(t, afterA["link"], filesIn(t, repo.Dir)["link"], "all else is as it was")
			assert.NoFileExists(t, filepath.Join(repo.Dir, "src/deep/er/new.txt"))
			undo(t, s, "run")
			data, err = os.ReadFile(kept)
			require.NoError(t, err)
			assert.Equal(t, "mine\n", string(data))
		})
	}
}
