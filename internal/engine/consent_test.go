package engine_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/consent"
	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestWhatRunsIsTheDefinitionThatWasAgreedTo(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	store, opts := openIn(t, repo)
	wf := parse(t, "name: w\ntasks:\n  - {id: one, run: 'echo agreed >ran'}\n")
	head := create(t, store, "r", wf, nil)
	before := repo.Git("for-each-ref", "refs/smithers")

	_, err := engine.Run(t.Context(), head, consent.Workflow{}, opts)
	assert.Equal(t, fault.Unconfirmed, fault.CodeOf(err))
	assert.NoFileExists(t, filepath.Join(repo.Dir, "ran"))
	assert.Equal(t, before, repo.Git("for-each-ref", "refs/smithers"))

	agreed, err := consent.Ask(store, wf.Snapshot(), true, func() error { return nil })
	require.NoError(t, err)
	wf.Tasks[0].Run = "echo another >ran" // too late
	result, err := engine.Run(t.Context(), head, agreed, opts)
	require.NoError(t, err)
	assert.Equal(t, snapshot.RunFinished, result.Run.Status)
	ran, err := os.ReadFile(filepath.Join(repo.Dir, "ran"))
	require.NoError(t, err)
	assert.Equal(t, "agreed\n", string(ran))
}

// What a run keeps reaches a command as JSON on its standard input and never as a part of
// its line, whatever is in it.
func TestWhatARunKeepsIsNoPartOfACommandLine(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `
name: w
outputs: {said: {}}
tasks:
  - {id: one, output: said, run: "echo '\"$(touch bad); {input.x}\"'"}
  - {id: two, needs: [one], run: 'echo "{outputs.said} {input.x} {run}" >line'}
`, `{"x":"$(touch bad); touch bad"}`)
	_, err := s.run()
	require.NoError(t, err)
	assert.Equal(t, "{outputs.said} {input.x} {run}\n", s.read("line"), "braces are the shell's")
	assert.NoFileExists(t, filepath.Join(s.dir, "bad"))
}
