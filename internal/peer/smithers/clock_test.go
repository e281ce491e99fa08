package smithers_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source/sourcetest"
	"github.com/git-smithers/git-smithers/internal/repotest"
)

func TestTimesThatNoClockShowsAreTheSameEverywhereAndComeBack(t *testing.T) {
	t.Parallel()
	for _, begun := range []string{"-1", "9007199254740992"} {
		t.Run(begun, func(t *testing.T) {
			t.Parallel()
			path := copyOf(t, jjFixture, `UPDATE _smithers_runs SET created_at_ms = `+begun,
				`UPDATE _smithers_snapshots SET created_at_ms = 0 WHERE frame_no = 1`,
				`UPDATE _smithers_snapshots SET created_at_ms = -5 WHERE frame_no = 2`,
				`UPDATE _smithers_frames SET created_at_ms = -6 WHERE frame_no = 2`,
				`UPDATE _smithers_snapshots SET created_at_ms = 9007199254740993 WHERE frame_no = 31`)
			first, second := newHome(t), openHomeAt(t, repotest.New(t, repotest.Commit), 1895300000000)
			for _, h := range []*home{first, second} {
				require.NoError(t, h.take(path)["run-j"].Err)
			}
			assert.Equal(t, first.tips(), second.tips())
			first.exact(path)
			assert.Zero(t, first.entry("run-j:2").AtMs)

			require.NoError(t, sourcetest.Exec(t.Context(), path, `UPDATE _smithers_runs SET workflow_name = 'other'`))
			run := first.take(path)["run-j"]
			require.NoError(t, run.Err)
			assert.Equal(t, smithers.OutcomeContinued, run.Outcome)
			assert.False(t, run.Rewound)
			first.exact(path)
		})
	}
}
