package timeline_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestACommandGoesOnWithTheEntryThatItsAddressMeant(t *testing.T) {
	t.Parallel()
	s := openWith(t, repotest.New(t, repotest.Commit), newWatch().now)
	writer := running(t, s, "run")
	at, err := s.Load(t.Context(), "run")
	require.NoError(t, err)
	require.NoError(t, writer.Append(t.Context(), snapshot.Draft{Frame: new(snapshot.FrameDraft)}))

	head, err := s.HeadOf(at)
	require.NoError(t, err)
	assert.Equal(t, at.Entry.ID, head.Entry().ID)
	assert.Equal(t, at.Address.Frame, head.Row().Frame)
	assert.Equal(t, fault.Conflict, fault.CodeOf(head.Append(t.Context(), snapshot.Draft{})), "the run has gone on")
}
