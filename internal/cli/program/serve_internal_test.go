package program

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// A canceledInput is a terminal's or a program's input that a signal ends with an error.
type canceledInput struct{ ctx context.Context } //nolint:containedctx // as the input of a command has it

func (in canceledInput) Read([]byte) (int, error) {
	<-in.ctx.Done()
	return 0, in.ctx.Err()
}

func TestASignalEndsTheInputOfAServerWithoutAnError(t *testing.T) {
	t.Parallel()
	for range 500 { // the order of what happens at a signal is not certain
		ctx, cancel := context.WithCancel(t.Context())
		r := untilSignal(ctx, canceledInput{ctx})
		cancel()
		_, err := io.ReadAll(r)
		require.NoError(t, err)
	}
}
