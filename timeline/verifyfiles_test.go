package timeline_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/upkeep/verify"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// captured is a frame whose working copy is a tree that the repository has.
func captured(t *testing.T, tree string) snapshot.Draft {
	t.Helper()
	id, err := objstore.ParseID(tree)
	require.NoError(t, err)
	return snapshot.Draft{Frame: &snapshot.FrameDraft{}, VCS: &snapshot.VCS{Type: snapshot.VCSGit, Tree: id, Scope: snapshot.ScopeAll}}
}

// folder writes a tree of files as loose objects.
func folder(t *testing.T, repo *repotest.Repo, listing string) string {
	t.Helper()
	return repo.GitInput(listing, "mktree")
}

func blob(repo *repotest.Repo, text string) string {
	return repo.GitInput(text, "hash-object", "-w", "--stdin")
}

func loosePath(repo *repotest.Repo, id string) string {
	return filepath.Join(repo.GitDir, "objects", id[:2], id[2:])
}

// problems is what a verification by another process finds.
func problems(t *testing.T, repo *repotest.Repo) []verify.Problem {
	t.Helper()
	s, err := timeline.Open(t.Context(), timeline.Options{Dir: repo.Dir, Env: repo.Env, Now: clock()})
	require.NoError(t, err)
	report, err := verify.Runs(t.Context(), s)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	return report.Problems
}

func TestVerifyChecksTheCapturedFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, path string)
		code   fault.Code
	}{
		{"a file that is missing", func(t *testing.T, path string) {
			t.Helper()
			require.NoError(t, os.Remove(path))
		}, fault.MissingObject},
		{"a file that is damaged", func(t *testing.T, path string) {
			t.Helper()
			require.NoError(t, os.Chmod(path, 0o600))
			require.NoError(t, os.Truncate(path, 8))
		}, fault.CorruptObject},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			repo := repotest.New(t)
			s := open(t, repo)
			bad, good := blob(repo, "bad"), blob(repo, "good")
			sub := folder(t, repo, "100644 blob "+bad+"\tbad.txt\n")
			with := folder(t, repo, "100644 blob "+good+"\tgood.txt\n040000 tree "+sub+"\tsub\n")
			without := folder(t, repo, "100644 blob "+good+"\tgood.txt\n")
			head := triage(t, s, "one")
			require.NoError(t, head.Append(t.Context(), captured(t, with)))
			require.NoError(t, head.Append(t.Context(), captured(t, without)))
			require.NoError(t, head.Append(t.Context(), captured(t, with)))
			require.Empty(t, problems(t, repo))

			c.damage(t, loosePath(repo, bad))
			repo.Damaged()
			found := problems(t, repo)
			require.Len(t, found, 2)
			for i, frame := range []int64{7, 5} {
				assert.Equal(t, []any{"one", frame, c.code}, []any{found[i].Run, *found[i].Frame, found[i].Code})
				assert.Contains(t, found[i].What, `worktree: "sub/bad.txt"`)
				assert.Contains(t, found[i].What, bad)
			}
		})
	}
}

func TestVerifyChecksTheWorktreesOfTasksAndTheTreesOfAttempts(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	s := open(t, repo)
	bad := blob(repo, "bad")
	draft := captured(t, folder(t, repo, ""))
	own := captured(t, folder(t, repo, "100644 blob "+bad+"\tbad.txt\n"))
	draft.VCS.Worktrees = []snapshot.Worktree{{Name: "of a task", VCS: *own.VCS}}
	head := triage(t, s, "one")
	require.NoError(t, head.Append(t.Context(), draft))
	row := snapshot.EncodeAttempt(snapshot.Attempt{NodeID: "a", Attempt: 1, State: snapshot.AttemptFinished, Tree: own.VCS.Tree})
	draft.VCS.Worktrees = nil
	draft.Journal = []snapshot.Change{{Op: snapshot.OpSet, Collection: snapshot.CollectionAttempts, Key: row.Key, Value: row.Value}}
	require.NoError(t, head.Append(t.Context(), draft))
	require.Empty(t, problems(t, repo))

	require.NoError(t, os.Remove(loosePath(repo, bad)))
	repo.Damaged()
	found := problems(t, repo)
	require.Len(t, found, 2)
	assert.Contains(t, found[0].What, `worktree of "of a task": "bad.txt"`)
	assert.Equal(t, []any{int64(5), fault.MissingObject}, []any{*found[0].Frame, found[0].Code})
	assert.Contains(t, found[1].What, `attempt "a::0::1": "bad.txt"`)
	assert.Equal(t, fault.MissingObject, found[1].Code)
}

func TestSubmodulesAreNotFollowed(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	tree := repo.GitInput("160000 commit "+strings.Repeat("12", len(repo.Git("rev-parse", "HEAD"))/2)+"\tlib\n", "mktree", "--missing")
	require.NoError(t, triage(t, s, "one").Append(t.Context(), captured(t, tree)))
	assert.Empty(t, problems(t, repo))
}

func TestATreeThatAnOldGitWroteIsSound(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	s := open(t, repo)
	id, err := objstore.ParseID(folder(t, repo, ""))
	require.NoError(t, err)
	padded := string(append([]byte("040000 sub\x00"), id.Bytes()...))
	tree := repo.GitInput(padded, "hash-object", "-t", "tree", "--literally", "-w", "--stdin")
	require.NoError(t, triage(t, s, "one").Append(t.Context(), captured(t, tree)))
	repo.Damaged() // git fsck --strict minds the leading zero
	assert.Empty(t, problems(t, repo))
}

func TestADraftWithFilesIsAppendedAgainAfterAConflict(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	s := open(t, repo)
	first := triage(t, s, "one")
	second, err := s.Head(t.Context(), "one")
	require.NoError(t, err)
	require.NoError(t, first.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}}))

	calls := 0
	add := func(w objstore.Writer) objstore.ID {
		return w.Add(objstore.Tree, objstore.EncodeTree([]objstore.TreeEntry{
			{Name: "a", Mode: objstore.ModeFile, ID: w.Add(objstore.Blob, []byte("a"))},
		}))
	}
	draft := snapshot.Draft{
		Frame:   &snapshot.FrameDraft{},
		VCS:     &snapshot.VCS{Type: snapshot.VCSGit, Tree: add(&objstoretest.Memory{Algorithm: s.Objects().Hash()}), Scope: snapshot.ScopeAll},
		Objects: func(w objstore.Writer) error { calls++; add(w); return nil },
	}
	assert.Equal(t, fault.Conflict, fault.CodeOf(second.Append(t.Context(), draft)))
	require.NoError(t, second.Refresh(t.Context()))
	require.NoError(t, second.Append(t.Context(), draft))
	assert.Equal(t, 2, calls)
	assert.Equal(t, "a", repo.Git("show", "refs/smithers/one/"+strconv.FormatInt(second.Row().Frame, 10)+":worktree/a"))
}
