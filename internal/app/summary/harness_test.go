package summary_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/cli"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// A place is a repository in which runs are made by the commands that people type. Its clock stands still until it is put on.
type place struct {
	t    *testing.T
	repo *repotest.Repo
	now  time.Time
	warn []string
}

// newPlace makes a repository with a workflow file, flow.yaml, and one commit. In the end it must verify.
func newPlace(t *testing.T, workflow string) *place {
	t.Helper()
	p := &place{t: t, repo: repotest.New(t), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	p.repo.OnCleanup(func(testing.TB) { p.do(fault.ExitOK, "", "verify") })
	p.repo.Write("flow.yaml", workflow)
	p.repo.Write("code", "one\ntwo\n")
	p.repo.Git("add", "-A")
	p.repo.Git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message=begin")
	return p
}

// do runs a command of git smithers, which must end with a status, and returns its standard output.
func (p *place) do(exit int, stdin string, args ...string) string {
	p.t.Helper()
	var out, talk strings.Builder
	got := cli.Main(context.Background(), cli.Streams{
		In: strings.NewReader(stdin), Out: &out, Err: &talk, Dir: p.repo.Dir, Now: func() time.Time { return p.now },
		Env: append(p.repo.Env, "GIT_SMITHERS_FSYNC=0", "GIT_SMITHERS_WORKTREE=all"),
	}, args)
	require.Equal(p.t, exit, got, "%v: %s", args, talk.String())
	return strings.TrimSpace(out.String())
}

// read returns the summary of a run, all of which must be readable.
func (p *place) read(run string) *summary.Summary {
	p.t.Helper()
	sum, _ := p.open(run)
	require.Empty(p.t, sum.Unread)
	return sum
}

// open returns the summary of a run and the store.
func (p *place) open(run string) (*summary.Summary, *timeline.Store) {
	p.t.Helper()
	store, err := timeline.Open(p.t.Context(), timeline.Options{
		Dir: p.repo.Dir, Env: p.repo.Env, Now: func() time.Time { return p.now }, Warn: func(err error) { p.warn = append(p.warn, err.Error()) },
	})
	require.NoError(p.t, err)
	p.t.Cleanup(func() { assert.NoError(p.t, store.Close()) })
	sum, err := summary.Read(p.t.Context(), store, run, p.now)
	require.NoError(p.t, err)
	return sum, store
}

// step returns a step by its name.
func step(t *testing.T, sum *summary.Summary, name string) *summary.Step {
	t.Helper()
	for i := range sum.Steps {
		if sum.Steps[i].Name() == name {
			return &sum.Steps[i]
		}
	}
	require.Failf(t, "no step", "%s of %v", name, names(sum))
	return nil
}

// names returns the names of the steps, in their order.
func names(sum *summary.Summary) []string {
	var list []string
	for i := range sum.Steps {
		list = append(list, sum.Steps[i].Name())
	}
	return list
}

// itoa returns a frame's number as text.
func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// replace gives the newest entry of a run other bytes at a path of its tree: blob is their id. When the test ends, the entry is back.
func (p *place) replace(t *testing.T, run, path, blob string) {
	t.Helper()
	ref := "refs/smithers/_tip/" + run
	tip := strings.TrimSpace(p.repo.Git("rev-parse", ref))
	t.Cleanup(func() { p.repo.Git("update-ref", ref, tip) })
	index := "GIT_INDEX_FILE=" + t.TempDir() + "/index"
	env := p.repo.Env
	p.repo.Env = append(slices.Clone(env), index)
	p.repo.Git("read-tree", tip)
	p.repo.Git("update-index", "--add", "--cacheinfo", "100644,"+strings.TrimSpace(blob)+","+path)
	tree := strings.TrimSpace(p.repo.Git("write-tree"))
	p.repo.Env = env
	_, rest, _ := strings.Cut(p.repo.Git("cat-file", "commit", tip), "\n")
	commit := p.repo.GitInput("tree "+tree+"\n"+rest+"\n", "hash-object", "-t", "commit", "-w", "--stdin")
	p.repo.Git("update-ref", ref, strings.TrimSpace(commit))
}
