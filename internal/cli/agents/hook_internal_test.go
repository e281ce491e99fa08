package agents

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestAHookThatIsStuckIsGivenUp(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithTimeout(t.Context(), time.Millisecond)
	defer stop()
	stuck, returned := make(chan struct{}), make(chan struct{})
	defer close(stuck)
	go func() {
		callWithin(ctx, time.Millisecond, func() { <-stuck })
		close(returned)
	}()
	select {
	case <-returned:
	case <-time.After(10 * time.Second):
		assert.Fail(t, "the hook waits for what is stuck")
	}
}
