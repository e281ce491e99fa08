package smithers_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers"
)

func TestTheSameRowsAndTheSameLineHaveTheSameNextDraft(t *testing.T) {
	t.Parallel()
	for _, fixture := range []string{gitFixture, jjFixture} {
		h, steps := newHome(t), 0
		path := copyOf(t, fixture, `UPDATE _smithers_attempts SET response_text = 'said by ' || node_id`)
		require.NoError(t, smithers.Redraft(t.Context(), h.Store, path, func(first, second smithers.Drafted) {
			assert.Equal(t, first, second)
			steps++
		}))
		assert.Greater(t, steps, 30, fixture)
		assert.Empty(t, h.tips(), "nothing is written")
	}
}
