package engine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestTheRenderedTreeShowsWorktrees(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `
name: w
worktree: true
tasks:
  - {id: a, run: x, worktree: {path: "../{task}", branch: b, base: develop}}
`, "")
	frame, err := s.frames.Rendered(&s.objects, s.frame(0))
	require.NoError(t, err)
	assert.JSONEq(t, `{"kind":"element","tag":"smithers:workflow","props":{"name":"w","worktree":"true"},"children":[
		{"kind":"element","tag":"smithers:task","props":{"id":"a","worktree":"../{task}","branch":"b","base":"develop"},"children":[]}]}`, string(frame))
}

// opener makes folders as worktrees and notes what it was asked for.
type opener struct {
	s      *scratch
	dir    string
	asked  []files.WorktreeSpec
	rebase []bool
	fail   error
	made   map[string]*folder
}

// worktrees lets the run open worktrees.
func (s *scratch) worktrees() *opener {
	o := &opener{s: s, dir: s.t.TempDir(), made: make(map[string]*folder)}
	s.opts.Worktree = o.open
	return o
}

func (o *opener) open(_ context.Context, spec files.WorktreeSpec, rebase bool) (engine.WorkingCopy, error) {
	o.asked, o.rebase = append(o.asked, spec), append(o.rebase, rebase)
	if o.fail != nil {
		return nil, o.fail
	}
	f := &folder{history: o.s.history, dir: filepath.Join(o.dir, "of-"+spec.Name), commit: "decafbad"}
	o.made[spec.Name] = f
	return f, os.MkdirAll(f.dir, 0o777)
}

func TestATaskRunsInItsOwnWorktreeWhichIsCapturedApart(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `
name: w
tasks:
  - {id: shared, run: 'touch s; read x < pipe'}
  - {id: apart, run: 'touch own', worktree: {path: "../{run}-{task}", branch: "{task}", base: develop}}
  - {id: after, needs: [apart], run: 'echo > pipe'}
`, "")
	s.fifo("pipe")
	o, shared := s.worktrees(), s.folder()
	s.opts.WorkingCopy = shared
	_, err := s.run()
	require.NoError(t, err)
	assert.Equal(t, []files.WorktreeSpec{{Name: "apart", Path: "../r-apart", Branch: "apart", Base: "develop"}}, o.asked)
	assert.Equal(t, []bool{false}, o.rebase)

	apart := s.attempts()["apart::0::1"]
	assert.Equal(t, "apart", apart.Worktree)
	assert.Equal(t, "own", s.names(apart.Tree))
	assert.Equal(t, "decafbad", apart.CommitID)
	assert.Empty(t, apart.Beside, "it shares its files with nobody")
	assert.Equal(t, "apart finished", s.frame(*apart.Frame).Subject)

	vcs := s.vcs(*apart.Frame)
	require.Len(t, vcs.Worktrees, 1)
	assert.Equal(t, "apart", vcs.Worktrees[0].Name)
	assert.Equal(t, apart.Tree, vcs.Worktrees[0].Tree)
	assert.Equal(t, s.vcs(1).Tree, vcs.Tree, "the shared files are not read for it")

	last := s.vcs(s.tipRow().Frame)
	assert.Equal(t, vcs.Worktrees, last.Worktrees, "later frames have it as it was last captured")
	assert.NotContains(t, last.Attempts, "apart::0::1")
	assert.Equal(t, 1, o.made["apart"].captures)
}

func TestAllIterationsOfATaskHaveOneWorktree(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `
name: w
tasks:
  - loop: l
    until: iteration == 2
    max: 5
    tasks:
      - {id: a, run: 'touch $SMITHERS_ITERATION', worktree: true}
`, "")
	o := s.worktrees()
	s.opts.WorkingCopy = s.folder()
	_, err := s.run()
	require.NoError(t, err)
	assert.Len(t, o.asked, 1)
	assert.Equal(t, "0 1 2", s.names(s.attempts()["a::2::1"].Tree))
	assert.Equal(t, "0", s.names(s.attempts()["a::0::1"].Tree))
}

func TestTheWorktreeOfAWorkflowIsWhereItsTasksRun(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `
name: w
worktree: {branch: "w-{run}"}
tasks: [{id: a, run: 'touch a; test $SMITHERS_ATTEMPT = 2'}]
`, "")
	o := s.worktrees()
	s.opts.WorkingCopy = s.folder()
	_, err := s.run()
	fails(t, fault.RunFailed, err)
	a := s.attempts()["a::0::1"]
	assert.Empty(t, a.Worktree)
	assert.Equal(t, "a", s.names(a.Tree))
	assert.Equal(t, "decafbad", s.vcs(1).CommitID)
	assert.NoFileExists(t, filepath.Join(s.dir, "a"))

	_, err = s.run()
	require.NoError(t, err)
	assert.Equal(t, []bool{false, true}, o.rebase, "a resume rebases it onto its base")
	assert.Equal(t, files.WorktreeSpec{Branch: "w-r", Fill: true}, o.asked[1], "it has the run's files, should it be made anew")
}

func TestATaskWhoseWorktreeCannotBeOpenedFails(t *testing.T) {
	t.Parallel()
	s := newScratch(t, "{name: w, tasks: [{id: a, run: touch a, worktree: true, retries: 1}]}", "")
	o := s.worktrees()
	o.fail = errors.New("/home/me/a is in the way")
	s.opts.WorkingCopy = s.folder()
	said := s.warnings()
	_, err := s.run()
	fails(t, fault.RunFailed, err)
	a := s.attempts()["a::0::2"]
	assert.Equal(t, "worktree: the worktree could not be opened", a.Error, "what is stored names no place of a machine")
	assert.Nil(t, a.Frame)
	assert.Equal(t, "task a: the worktree could not be opened: /home/me/a is in the way", (*said)[0])
	assert.Len(t, o.asked, 2, "every attempt tries it")
	assert.NoFileExists(t, filepath.Join(s.dir, "a"))
}

func TestARunWhoseWorktreeCannotBeOpenedWritesNothing(t *testing.T) {
	t.Parallel()
	s := newScratch(t, "{name: w, worktree: true, tasks: [{id: a, run: touch a}]}", "")
	s.worktrees().fail = fault.New(fault.WorktreeFailed, "something is in the way")
	_, err := s.run()
	fails(t, fault.WorktreeFailed, err)
	assert.Len(t, s.entries, 1)
}

func TestWorktreesNeedAPlace(t *testing.T) {
	t.Parallel()
	s := newScratch(t, "{name: w, tasks: [{id: a, run: touch a, worktree: true}]}", "")
	_, err := s.run()
	assert.Equal(t, "workflow w asks for worktrees, which need a repository", fails(t, fault.WorktreeFailed, err))
	assert.Len(t, s.entries, 1)
}

func TestARunThatIsCancelledWhileAWorktreeIsOpenedIsCancelled(t *testing.T) {
	t.Parallel()
	s := newScratch(t, "{name: w, tasks: [{id: a, run: touch a, worktree: true}]}", "")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.opts.Worktree = func(ctx context.Context, _ files.WorktreeSpec, _ bool) (engine.WorkingCopy, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	_, err := s.runWithin(ctx)
	fails(t, fault.RunCancelled, err)
	assert.Equal(t, "cancelled: the run was cancelled before the command started", s.attempts()["a::0::1"].Error)
	assert.Equal(t, snapshot.NodePending, s.states()["a::0"])
}

// A run's id may be any text and come from another repository; it must not lead a
// path elsewhere.
func TestARunsIDIsEscapedInPaths(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `{name: w, worktree: {path: "wt/{run}"}, tasks: [{id: a, run: 'true'}]}`, "")
	row := s.tipRow()
	row.ID = "../../Etc"
	o := s.worktrees()
	d, err := engine.Initial(row.ID, s.wf, nil, s.opts.Now())
	require.NoError(t, err)
	d.Run = func(to *snapshot.Run) { *to = row }
	s.entries = nil
	require.NoError(t, (&recorder{history: s.history}).Append(t.Context(), d))
	_, err = s.run()
	require.NoError(t, err)
	assert.Equal(t, "wt/%2e%2e%2f.%2e%2f%45tc", o.asked[0].Path)
}
