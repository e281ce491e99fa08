package display

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAnAttemptIsNamedInWords(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "fix, attempt 2", AttemptKey("fix::0::2"))
	assert.Equal(t, "fix, iteration 3, attempt 1", AttemptKey("fix::3::1"))
	assert.Equal(t, "nonsense", AttemptKey("nonsense"))
}
