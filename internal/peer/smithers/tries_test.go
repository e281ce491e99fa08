package smithers_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers"
)

// While one process imports, the engine goes on, and another process imports all of it.
func TestAnImportThatAnotherOvertakesTakesNothingBack(t *testing.T) {
	t.Parallel()
	const fork = "8805e8f3-364c-48f2-a529-c256b52b3593"
	at := newSite(t)
	engine := at.engine()
	other := at.open()
	t.Cleanup(func() { require.NoError(t, other.Close()) })
	for frame := range int64(3) {
		require.NoError(t, engine.Frame(t.Context(), "run-a", 2*frame+1))
		require.NoError(t, engine.Frame(t.Context(), fork, 2*frame))
		var once sync.Once
		imported, err := smithers.Import(t.Context(), at.store, at.database, smithers.ImportRequest{
			Progress: func(string, int, int) {
				once.Do(func() {
					assert.NoError(t, engine.Frame(t.Context(), "run-a", 2*frame+2))
					assert.NoError(t, engine.Frame(t.Context(), fork, 2*frame+1))
					_, err := smithers.Import(t.Context(), other, at.database, smithers.ImportRequest{})
					assert.NoError(t, err)
				})
			},
		})
		require.NoError(t, err)
		require.Len(t, imported.Runs, 2)
		for _, run := range imported.Runs {
			assert.NoError(t, run.Err)
			assert.False(t, run.Rewound)
			assert.Equal(t, smithers.OutcomeUnchanged, run.Outcome, "the other one has done it")
		}
		assert.Equal(t, 2*frame+2, imported.Runs[0].Frame)
		assert.Equal(t, 2*frame+1, imported.Runs[1].Frame)
	}
}
