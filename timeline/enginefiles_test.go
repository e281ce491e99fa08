package timeline_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/git-smithers/git-smithers/internal/files"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// setNode is the JSON of a change that puts a node into a state.
func setNode(id, state string, attempt int) string {
	return fmt.Sprintf(`{"op":"set","collection":"nodes","key":"%s::0","value":{"state":%q,"lastAttempt":%d}}`, id, state, attempt)
}

func TestOtherEnginesHaveTheWorkingCopyCapturedWhereAnAttemptEnds(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	c := capturer(t, s)
	for i, step := range []struct {
		name, line string
		captured   bool
	}{
		{"the first capture", `{"state":{}}`, true},
		{"a task starts", `{"changes":[` + setNode("a", "in-progress", 1) + `]}`, false},
		{"only an event", `{"events":[{"type":"Heartbeat"}],"frame":null}`, false},
		{"it finishes", `{"changes":[` + setNode("a", "finished", 1) + `]}`, true},
		{"it is said to be finished once more", `{"changes":[` + setNode("a", "finished", 1) + `]}`, false},
		{"another attempt ends at once", `{"changes":[` + setNode("a", "failed", 2) + `]}`, true},
		{"a whole state in which another one is cancelled", `{"state":{"nodes":[{"nodeId":"b","state":"cancelled"}]}}`, true},
		{"an attempt of the journal starts", `{"changes":[{"op":"set","collection":"attempts","key":"c::0::1","value":{"state":"in-progress","startedAtMs":1}}]}`, false},
		{"and ends", `{"changes":[{"op":"set","collection":"attempts","key":"c::0::1","value":{"state":"failed","startedAtMs":1,"finishedAtMs":2}}]}`, true},
		{"a node is skipped", `{"changes":[` + setNode("d", "skipped", 0) + `]}`, false},
		{"it is asked for", `{"changes":[],"worktree":true}`, true},
		{"it is asked not to be", `{"changes":[` + setNode("e", "finished", 1) + `],"worktree":false}`, false},
	} {
		content := fmt.Sprintf("# Step %d\n", i)
		repo.Write("README.md", content)
		_, err := capture(t, c, step.line)
		require.NoError(t, err, step.name)
		vcs := vcsAt(t, s, "run")
		got := repo.Git("cat-file", "blob", vcs.Tree.String()+":README.md") + "\n"
		assert.Equal(t, step.captured, got == content, "%s: %s", step.name, got)
	}
}

func TestAnEnginesRevisionCountsAndTheFilesAreStillCaptured(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	c := capturer(t, s)
	_, err := capture(t, c, `{"state":{},"vcs":{"type":"jj","changeId":"kkmm","commitId":"abcd","operationId":"0123","branch":"theirs"}}`)
	require.NoError(t, err)
	vcs := vcsAt(t, s, "run")
	tree := vcs.Tree
	assert.False(t, tree.IsZero())
	assert.Equal(t, []string{"jj", "kkmm", "abcd", "0123", "theirs"}, []string{vcs.Type, vcs.ChangeID, vcs.CommitID, vcs.Operation, vcs.Branch})

	_, err = capture(t, c, `{"changes":[],"vcs":{"type":"git","commitId":"abce"}}`)
	require.NoError(t, err)
	vcs = vcsAt(t, s, "run")
	assert.Equal(t, "abce", vcs.CommitID)
	assert.True(t, vcs.Tree.IsZero(), "which files belong to it, nobody has looked")
}

func TestAnEngineCannotClaimFilesThatNobodyCaptured(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	c := capturer(t, s)
	tree := repo.Git("rev-parse", "HEAD^{tree}")
	for _, member := range []string{
		`"treeId":"` + tree + `"`, `"scope":"all"`, `"root":"elsewhere"`, `"conflicted":true`, `"attempts":["a::0::1"]`,
		`"leftOut":[{"path":"a","reason":"too-large"}]`, `"altered":[{"path":"a","by":"lfs"}]`, `"worktrees":[{"name":"a"}]`,
	} {
		_, err := capture(t, c, `{"state":{},"vcs":{"type":"git",`+member+`}}`)
		assert.Equal(t, fault.InvalidInput, fault.CodeOf(err), member)
		assert.ErrorContains(t, err, strings.Split(member, `"`)[1], member)
	}
	assert.Empty(t, repo.Git("for-each-ref", "refs/smithers"))
}

func TestAttemptsOfOtherEnginesGetTheirPointer(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	c := capturer(t, s)
	_, err := capture(t, c, `{"changes":[`+setNode("a", "in-progress", 1)+`,`+setNode("b", "in-progress", 3)+`]}`)
	require.NoError(t, err)
	repo.Write("README.md", "# Of the attempt\n")
	found := filesIn(t, repo.Dir)
	attempt := func(key, more string) string {
		return `{"op":"set","collection":"attempts","key":"` + key + `","value":{"state":"finished","startedAtMs":1,"finishedAtMs":2` + more + `}}`
	}
	_, err = capture(t, c, `{"changes":[`+setNode("a", "finished", 1)+`,`+attempt("a::0::1", "")+`,`+attempt("x::0::1", `,"commitId":"abcd"`)+
		`,{"op":"set","collection":"logs","key":"a::0::1","value":"well done"}]}`)
	require.NoError(t, err)

	loaded, err := s.Load(t.Context(), "run")
	require.NoError(t, err)
	attempts, err := loaded.Entry.Attempts()
	require.NoError(t, err)
	got := make(map[string]snapshot.Attempt)
	for row, err := range attempts.Rows() {
		require.NoError(t, err)
		got[row.Key], err = snapshot.DecodeAttempt(row)
		require.NoError(t, err)
	}
	a, vcs := got["a::0::1"], vcsAt(t, s, "run:1")
	assert.Equal(t, []string{"b::0::3"}, vcs.Attempts)
	assert.Equal(t, vcs.CommitID, a.CommitID)
	assert.Equal(t, vcs.Tree, a.Tree)
	assert.Equal(t, []string{"b::0::3"}, a.Beside)
	require.NotNil(t, a.Frame)
	assert.EqualValues(t, 1, *a.Frame)
	assert.Equal(t, "abcd", got["x::0::1"].CommitID, "a pointer that was given stays")
	assert.True(t, got["x::0::1"].Tree.IsZero())

	repo.Write("README.md", "# Later\n")
	done, err := files.Revert(t.Context(), s, files.RevertRequest{Run: "run", Node: "a"})
	require.NoError(t, err)
	assert.Equal(t, found, filesIn(t, repo.Dir))
	assert.Equal(t, []string{"b::0::3"}, done.Beside)
}

// However often an entry has to be built again, the files are read once.
func TestTheWorkingCopyIsReadOnceForACapture(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	quick := open(t, repo)
	built := 0
	slow, err := timeline.Open(t.Context(), timeline.Options{
		Dir: repo.Dir, Env: repo.Env, Now: clock(),
		Failpoint: func(name string) error {
			if name == "before-refs" {
				built++
				repo.Write("README.md", "# Changed after it was read\n")
			}
			return nil
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, slow.Close()) })
	_, err = capture(t, capturer(t, quick), `{"state":{}}`)
	require.NoError(t, err)
	behind := capturer(t, slow)
	for range 3 {
		_, err := capture(t, capturer(t, quick), `{"changes":[]}`)
		require.NoError(t, err)
	}
	repo.Write("README.md", "# Once\n")
	answer, err := capture(t, behind, `{"changes":[],"worktree":true}`)
	require.NoError(t, err)
	require.NotNil(t, answer.Frame)
	assert.EqualValues(t, 4, *answer.Frame)
	assert.Equal(t, 2, built)
	assert.Equal(t, "# Once", repo.Git("show", "refs/smithers/run/4:worktree/README.md"))
}
