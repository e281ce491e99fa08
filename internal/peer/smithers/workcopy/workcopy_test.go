package workcopy

import (
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// copiesOf are the working copies that rows name, in a repository.
func copiesOf(t *testing.T, repo *repotest.Repo) *Finder {
	t.Helper()
	s, err := timeline.Open(t.Context(), timeline.Options{
		Dir: repo.Dir, Env: repo.Env, Now: time.Now,
		Warn: func(err error) { t.Errorf("warning: %v", err) },
	})
	require.NoError(t, err)
	c, err := NewFinder(t.Context(), s)
	require.NoError(t, err)
	c.Database = filepath.Join(repo.Dir, "smithers.db")
	t.Cleanup(func() {
		require.NoError(t, c.Close())
		require.NoError(t, s.Close())
	})
	return c
}

func sqlText(s string) source.Value { return source.Value{Kind: source.Text, Bytes: s} }

func sqlInt(n int64) source.Value { return source.Value{Kind: source.Int, Int: n} }

// runIn is the row of a run that a process under kind executed in a folder.
func runIn(kind, root string) source.Row {
	return source.Row{
		"run_id": sqlText("r"), "vcs_type": sqlText(kind), "vcs_root": sqlText(root),
		"config_json": sqlText(`{"rootDir":` + strconv.Quote(root) + `}`),
	}
}

// left is the row of an attempt of a node that left a commit; ended 0 is one that runs.
func left(node string, started, ended int64, commit, folder string) source.Row {
	row := source.Row{
		"node_id": sqlText(node), "iteration": sqlInt(0), "attempt": sqlInt(1),
		"started_at_ms": sqlInt(started), "jj_cwd": sqlText(folder),
	}
	if ended != 0 {
		row["finished_at_ms"] = sqlInt(ended)
	}
	if commit != "" {
		row["jj_pointer"] = sqlText(commit)
	}
	return row
}

// ended is that attempt as ours.
func ended(node string, at int64) *snapshot.Attempt {
	return &snapshot.Attempt{NodeID: node, Attempt: 1, State: snapshot.AttemptFinished, FinishedAtMs: &at}
}

// trees are the files that each working copy has.
func trees(copies []snapshot.VCS) []string {
	out := []string{}
	for _, c := range copies {
		out = append(out, c.Tree.String())
	}
	return out
}

// commitJJ has jj take the working copy with a file in it, and tells its commit and tree.
func commitJJ(repo *repotest.Repo, content string) (commit, tree string) {
	repo.Write("draft.md", content)
	commit = repo.JJ("log", "-r@", "--no-graph", "-T", "commit_id")
	return commit, repo.Git("rev-parse", commit+"^{tree}")
}

func TestAFrameHasTheFilesOfTheCommitThatItsProcessStartedAt(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	head, tree := repo.Git("rev-parse", "HEAD"), repo.Git("rev-parse", "HEAD^{tree}")
	run := copiesOf(t, repo).OfRun(runIn("git", repo.Dir), nil)
	first := run.Between(nil, nil, Moment{10, head})
	require.Len(t, first, 1)
	assert.Equal(t, snapshot.VCS{Type: "git", CommitID: head, Tree: first[0].Tree, Scope: snapshot.ScopeTracked}, first[0])
	assert.Equal(t, tree, first[0].Tree.String())
	assert.Empty(t, run.Between(&first[0], &Moment{10, head}, Moment{20, head}), "the process goes on")
	assert.Len(t, run.Between(&first[0], &Moment{10, strings.Repeat("1", 40)}, Moment{20, head}), 1, "another process")
}

func TestACommitThatIsNotHereIsARevisionWithoutFiles(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	c := copiesOf(t, repo)
	gone := strings.Repeat("1", 40)
	assert.Equal(t, &snapshot.VCS{Type: "git", CommitID: gone}, c.At("git", gone))
	blob := repo.Git("rev-parse", "HEAD:README.md")
	assert.Equal(t, &snapshot.VCS{Type: "git", CommitID: blob}, c.At("git", blob), "another kind of object")
	change := strings.Repeat("k", 32)
	assert.Equal(t, &snapshot.VCS{Type: "jj", ChangeID: change}, c.At("jj", change), "as Smithers once recorded them")
	for _, wrong := range []string{"", "main", "../HEAD", change[1:], strings.Repeat("0", 40), strings.Repeat("A", 41)} {
		assert.Nil(t, c.At("git", wrong), wrong)
	}
	assert.Nil(t, c.At("hg", gone))
	run := c.OfRun(runIn("jj", repo.Dir), []source.Row{left("one", 1, 2, gone, repo.Dir)})
	attempt := ended("one", 2)
	run.Point(attempt, 3)
	assert.Equal(t, gone, attempt.CommitID)
	assert.True(t, attempt.Tree.IsZero())
	assert.Nil(t, attempt.Frame)
}

func TestACommitWhoseFoldersArePrunedHasNoFiles(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	missing := strings.Repeat("2", len(repo.Git("rev-parse", "HEAD")))
	tree := repo.GitInput("040000 tree "+missing+"\tfolder\n", "mktree", "--missing")
	commit := repo.Git("commit-tree", "-m", "half", tree)
	assert.Equal(t, &snapshot.VCS{Type: "git", CommitID: commit}, copiesOf(t, repo).At("git", commit))
	repo.Damaged() // fsck misses the folder, too
}

func TestAttemptsOfJJPointAtTheFilesThatTheyLeft(t *testing.T) {
	t.Parallel()
	repo := repotest.NewKind(t, repotest.JJColocated)
	start, startTree := commitJJ(repo, "start\n")
	one, oneTree := commitJJ(repo, "one\n")
	two, twoTree := commitJJ(repo, "two\n")
	run := copiesOf(t, repo).OfRun(runIn("jj", repo.Dir), []source.Row{
		left("one", 11, 14, one, repo.Dir), left("two", 12, 16, two, repo.Dir), left("failed", 12, 17, "", repo.Dir),
		left("same", 13, 18, two, repo.Dir), left("running", 19, 0, "", repo.Dir),
	})
	before := Moment{10, start}
	first := run.Between(nil, nil, before)
	require.Equal(t, []string{startTree}, trees(first))
	assert.Equal(t, snapshot.ScopeAll, first[0].Scope)
	assert.Equal(t, repo.JJ("log", "-r@", "--no-graph", "-T", "change_id"), first[0].ChangeID)

	assert.Equal(t, []string{oneTree}, trees(run.Between(&first[0], &before, Moment{15, start})))
	assert.Equal(t, []string{oneTree, twoTree}, trees(run.Between(&first[0], &before, Moment{20, start})),
		"a frame has one working copy, and what it does not have gets an entry of its own")
	assert.Equal(t, []string{twoTree}, trees(run.Between(&first[0], &Moment{15, start}, Moment{20, start})))
	assert.Empty(t, run.Between(&first[0], &Moment{18, start}, Moment{math.MaxInt64, start}))

	attempt := ended("one", 14)
	run.Point(attempt, 7)
	assert.Equal(t, one, attempt.CommitID)
	assert.Equal(t, oneTree, attempt.Tree.String())
	assert.EqualValues(t, 7, *attempt.Frame)
	assert.Equal(t, []string{"failed::0::1", "same::0::1", "two::0::1"}, attempt.Beside, "what ran when it ended")
	failed := ended("failed", 17)
	run.Point(failed, 7)
	assert.Nil(t, failed.Frame, "Smithers notes nothing of an attempt that failed")
}

func TestATreeWithTheSidesOfAConflictIsNoWorkingCopy(t *testing.T) {
	t.Parallel()
	repo := repotest.NewKind(t, repotest.JJColocated)
	for _, side := range []string{"left", "right"} {
		repo.JJ("new", "--quiet", "main", "--message="+side)
		repo.Write("README.md", side+"\n")
		repo.JJ("bookmark", "create", "--quiet", side, "--revision=@")
	}
	repo.JJ("new", "--quiet", "left", "right")
	commit := repo.JJ("log", "-r@", "--no-graph", "-T", "commit_id")
	vcs := copiesOf(t, repo).At("jj", commit)
	assert.True(t, vcs.Conflicted)
	assert.True(t, vcs.Tree.IsZero())
	assert.Equal(t, commit, vcs.CommitID)
}

func TestTheWorktreeOfATaskIsNotTheRuns(t *testing.T) {
	t.Parallel()
	repo := repotest.NewKind(t, repotest.JJColocated)
	start, startTree := commitJJ(repo, "start\n")
	one, oneTree := commitJJ(repo, "one\n")
	two, twoTree := commitJJ(repo, "two\n")
	run := copiesOf(t, repo).OfRun(runIn("jj", repo.Dir), []source.Row{
		left("two", 11, 15, two, filepath.Join(filepath.Dir(repo.Dir), "..beside")),
		left("one", 11, 16, one, filepath.Join(repo.Dir, ".worktrees", "one")),
		left("one-more", 11, 17, one, filepath.Join(repo.Dir, "..", "..", "..", "elsewhere")),
	})
	before := Moment{10, start}
	first := run.Between(nil, nil, before)
	all := run.Between(&first[0], &before, Moment{20, start})
	require.Len(t, all, 1, "none of them takes the place of another")
	assert.Equal(t, startTree, all[0].Tree.String())
	var got []string
	for _, w := range all[0].Worktrees {
		got = append(got, w.Name+" "+w.Root+" "+w.Tree.String())
	}
	assert.Equal(t, []string{"one .worktrees/one " + oneTree, "one-more  " + oneTree, "two ../..beside " + twoTree}, got)

	attempt := ended("two", 15)
	run.Point(attempt, 4)
	assert.Equal(t, "two", attempt.Worktree)
	assert.Empty(t, attempt.Beside)
	assert.True(t, run.HasOwn(attempt))
}

func TestTheDatabaseIsNoPartOfTheWorkingCopy(t *testing.T) {
	t.Parallel()
	for _, kind := range []repotest.Kind{repotest.Git, repotest.JJColocated} {
		t.Run(strings.ReplaceAll(string(kind), " ", "-"), func(t *testing.T) {
			t.Parallel()
			repo := repotest.NewKind(t, kind)
			capture := func() *snapshot.VCS {
				run := copiesOf(t, repo).OfRun(runIn("git", repo.Dir), []source.Row{left("busy", 1, 0, "", repo.Dir)})
				captured, err := run.Capture(t.Context())
				require.NoError(t, err)
				require.NotNil(t, captured)
				return run.With(captured, nil, math.MaxInt64)
			}
			repo.Write("new.txt", "new\n")
			repo.Write("smithers.db", "1")
			repo.Write("smithers.db-wal", "1")
			first := capture()
			assert.Equal(t, []snapshot.LeftOut{
				{Path: "smithers.db", Reason: snapshot.LeftUntracked}, {Path: "smithers.db-wal", Reason: snapshot.LeftUntracked},
			}, first.LeftOut)
			assert.Equal(t, []string{"busy::0::1"}, first.Attempts, "which may be changing them")
			repo.Write("smithers.db", "22")
			second := capture()
			assert.Equal(t, first.Tree, second.Tree, "although the database has grown")
			assert.Equal(t, first.LeftOut, second.LeftOut)
		})
	}
}

func TestARunOfAnotherRepositoryHasNoWorkingCopyHere(t *testing.T) {
	t.Parallel()
	repo, other := repotest.New(t, repotest.Commit), repotest.New(t, repotest.Commit)
	c := copiesOf(t, repo)
	for _, root := range []string{other.Dir, filepath.Join(repo.Dir, "gone")} {
		captured, err := c.OfRun(runIn("git", root), nil).Capture(t.Context())
		require.NoError(t, err)
		assert.Nil(t, captured, root)
	}
	repo.Git("worktree", "add", "--quiet", "-b", "side", filepath.Join(filepath.Dir(repo.Dir), "linked"))
	linked := filepath.Join(filepath.Dir(repo.Dir), "linked")
	run := c.OfRun(runIn("git", linked), nil)
	captured, err := run.Capture(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "../linked", run.With(captured, nil, math.MaxInt64).Root)
}

func TestARunBuildsOnItsCommitInEveryCloneThatHasIt(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	c := copiesOf(t, repo)
	head := repo.Git("rev-parse", "HEAD")
	base, err := c.Base(t.Context(), c.At("git", head))
	require.NoError(t, err)
	assert.Equal(t, head, base.String(), "on a branch of its own")
	repo.Git("update-ref", "refs/remotes/origin/main", head)
	repo.Git("checkout", "--quiet", "--orphan", "other")
	repo.Git("commit", "--quiet", "--allow-empty", "--message=another")
	base, err = c.Base(t.Context(), c.At("git", head))
	require.NoError(t, err)
	assert.Equal(t, head, base.String(), "on one of a remote")
	lone := repo.Git("commit-tree", "-m", "on no branch", head+"^{tree}")
	base, err = c.Base(t.Context(), c.At("git", lone))
	require.NoError(t, err)
	assert.True(t, base.IsZero())
	base, err = c.Base(t.Context(), nil)
	require.NoError(t, err)
	assert.True(t, base.IsZero())
}
