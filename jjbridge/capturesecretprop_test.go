package jjbridge_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/jjbridge"
)

// TestWhateverHappensToFilesTheirSecretsAreLeftOut changes files and the user's index at random. Each capture has exactly the
// files that are tracked or have no secret, and no object has a secret that git was not given.
func TestWhateverHappensToFilesTheirSecretsAreLeftOut(t *testing.T) {
	t.Parallel()
	names := []string{"a.txt", "d/b.txt", "d/c.crlf", ".env"}
	repotest.Check(t, func(rt *rapid.T) {
		repo := repotest.New(t, repotest.Commit)
		repo.Write(".gitattributes", "*.crlf text\n")
		if rapid.Bool().Draw(rt, "plain") {
			remove(t, repo, ".gitattributes") // then git reads no file for a capture
		}
		repo.Git("add", "--all")
		repo.Git("commit", "--quiet", "--message=attributes", "--allow-empty")
		search := &markers{rules: "1"}
		given := make(map[string]bool) // the contents that git was given
		content := func(name string) string {
			data, err := os.ReadFile(filepath.Join(repo.Dir, name))
			if err != nil {
				return ""
			}
			return strings.ReplaceAll(string(data), "\r\n", "\n")
		}
		for i := range rapid.IntRange(2, 8).Draw(rt, "steps") {
			name := rapid.SampledFrom(names).Draw(rt, "name")
			switch rapid.SampledFrom([]string{"write", "hush", "hush", "add", "forget", "commit", "remove", "rules", "off", "lost"}).Draw(rt, "step") {
			case "write":
				repo.Write(name, fmt.Sprintf("plain %d\r\n", i))
			case "hush":
				repo.Write(name, fmt.Sprintf("hush %d\r\n", i))
			case "add":
				if content(name) != "" {
					repo.Git("add", name)
					given[content(name)] = true
				}
			case "forget":
				repo.Git("rm", "--quiet", "--cached", "--force", "--ignore-unmatch", name)
			case "commit":
				repo.Git("commit", "--quiet", "--message=more", "--allow-empty")
			case "remove":
				remove(t, repo, name)
			case "rules":
				search.rules += "1"
			case "off": // a capture without a search, which is not stored
				dropCapture(t, repo, jjbridge.CaptureOptions{})
			case "lost":
				dropCapture(t, repo, search.options())
			}
			if content(name) != "" && rapid.Bool().Draw(rt, "age") {
				age(t, repo, name)
			}
			v := capture(t, repo, search.options())
			index := strings.Fields(repo.Git("ls-files"))
			var left []string
			for _, name := range names {
				has := content(name)
				secret := strings.Contains(has, "hush") || path.Base(name) == ".env"
				switch {
				case has == "":
					require.NotContains(t, paths(repo, v), name)
				case secret && !slices.Contains(index, name):
					left = append(left, name)
					require.NotContains(t, paths(repo, v), name)
				default:
					require.Equal(t, strings.TrimSpace(has), strings.TrimSpace(repo.Git("show", v.Tree.String()+":"+name)))
				}
				if slices.Contains(index, name) {
					given[has] = true // the working copy's content of a tracked file is captured
				}
			}
			slices.Sort(left)
			require.Equal(t, secretsOf(left...), v.LeftOut)
		}
		for line := range strings.Lines(repo.Git("cat-file", "--batch-all-objects", "--batch", "--buffer")) {
			if text := strings.TrimRight(line, "\r\n"); strings.HasPrefix(text, "hush ") {
				require.True(t, given[text+"\n"], text)
			}
		}
	})
}

// dropCapture captures the working copy and stores nothing.
func dropCapture(t *testing.T, repo *repotest.Repo, opts jjbridge.CaptureOptions) {
	t.Helper()
	c, err := workspace(t, repo).Capture(t.Context(), opts)
	require.NoError(t, err)
	require.NoError(t, c.Close())
}
