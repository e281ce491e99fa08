package source

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestARowThatWasReadWhileTheContextEndedIsNotDamaged(t *testing.T) {
	t.Parallel()
	assert.NotErrorIs(t, damaged("table %q: %w", "a", context.Canceled), ErrDamaged)
	assert.ErrorIs(t, damaged("table %q: %w", "a", context.Canceled), context.Canceled)
	assert.ErrorIs(t, damaged("table %q: %w", "a", errors.New("no rows")), ErrDamaged)
}
