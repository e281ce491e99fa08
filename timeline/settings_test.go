package timeline_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestLimitsAreConfigured(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		config [][2]string
		env    []string
		code   fault.Code
	}{
		{name: "the defaults take it"},
		{name: "a depth in git's configuration", config: [][2]string{{"smithers.maxDepth", "2"}}, code: fault.LimitExceeded},
		{name: "the environment is stronger", config: [][2]string{{"smithers.maxDepth", "2"}}, env: []string{"GIT_SMITHERS_MAX_DEPTH=100"}},
		{name: "a size", config: [][2]string{{"smithers.maxValue", "5"}}, code: fault.LimitExceeded},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			repo := repotest.New(t, repotest.Commit)
			for _, setting := range c.config {
				repo.Git("config", setting[0], setting[1])
			}
			repo.Env = append(repo.Env, c.env...)
			s := open(t, repo)
			_, err := s.Create(t.Context(), snapshot.Run{ID: "run", Status: snapshot.RunRunning}, snapshot.Draft{
				Frame: &snapshot.FrameDraft{State: []snapshot.Change{input(`{"a":[[1]]}`)}},
			})
			if c.code == "" {
				require.NoError(t, err)
				return
			}
			assert.Equal(t, c.code, fault.CodeOf(err), "%v", err)
		})
	}
}

func TestASettingThatIsNoneIsNamed(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{"smithers.maxDepth", "deep"},
		{"smithers.maxDepth", "-1"},
		{"smithers.worktree", "some"},
		{"smithers.worktree", ""},
		{"smithers.worktreeMaxFile", "big"},
		{"smithers.worktreeMaxFile", "-1"},
		{"smithers.worktreeMaxFile", "0"},
		{"smithers.staleAfter", "soon"},
		{"smithers.staleAfter", "30"},
		{"smithers.staleAfter", "99ms"},
		{"smithers.staleAfter", "-1s"},
	} {
		key, value := c[0], c[1]
		repo := repotest.New(t, repotest.Commit)
		repo.Git("config", key, value)
		_, err := timeline.Open(t.Context(), timeline.Options{Dir: repo.Dir, Env: repo.Env, Now: clock()})
		var f *fault.Error
		require.ErrorAs(t, err, &f, c)
		assert.Equal(t, fault.Usage, f.Code)
		assert.Contains(t, f.Msg, strings.ToLower(key))
	}
}
