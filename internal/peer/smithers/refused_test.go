package smithers_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestSettingsAreNamedWhereTheyRaiseTheLimitThatAValueIsAbove(t *testing.T) {
	t.Parallel()
	for limit, raises := range map[error]bool{snapshot.ErrLimit: true, source.ErrTooLarge: false} {
		err := smithers.Refused("run-a", fmt.Errorf("frame 9: %w", limit))
		assert.Equal(t, fault.ImportRefused, fault.CodeOf(err))
		coded, ok := errors.AsType[*fault.Error](err)
		require.True(t, ok)
		assert.Equal(t, raises, strings.Contains(strings.Join(coded.Hints, " "), "smithers.maxValue"), limit)
	}
}
