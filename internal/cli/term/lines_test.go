package term

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLinesOf(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		in   string
		want []string
	}{
		"nothing":                          {"", nil},
		"lines":                            {"a\nb\n", []string{"a", "b"}},
		"a last line without its end":      {"a\nb", []string{"a", "b"}},
		"an empty line is a line":          {"a\n\nb\n", []string{"a", "", "b"}},
		"as long as the limit":             {"12345678\n", []string{"12345678"}},
		"longer than the limit is cut":     {"1234567890\nb\n", []string{"123456789", "b"}},
		"longer than a buffer is cut, too": {strings.Repeat("x", 10_000) + "\nb\n", []string{"xxxxxxxxx", "b"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for line, err := range LinesOf(iotest.HalfReader(strings.NewReader(test.in)), 8) {
				require.NoError(t, err)
				got = append(got, string(line))
			}
			assert.Equal(t, test.want, got)
		})
	}
}

func TestLinesOfEndsWithWhatStopsIt(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	var lines int
	var last error
	for _, err := range LinesOf(io.MultiReader(strings.NewReader("a\n"), iotest.ErrReader(broken)), 8) {
		lines, last = lines+1, err
	}
	assert.Equal(t, 2, lines)
	assert.ErrorIs(t, last, broken)
}

func TestInputReaderDoesNotWaitForInputAfterAnInterrupt(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	t.Cleanup(func() { assert.NoError(t, w.Close()) })
	in := inputReader{ctx, r}
	done := make(chan error)
	go func() {
		_, err := io.ReadAll(in)
		done <- err
	}()
	_, err := w.Write([]byte("some"))
	require.NoError(t, err)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	_, err = in.Read(make([]byte, 1))
	assert.ErrorIs(t, err, context.Canceled, "and neither later")
}

func TestInputReaderGivesWhatItReads(t *testing.T) {
	t.Parallel()
	assert.NoError(t, iotest.TestReader(inputReader{t.Context(), strings.NewReader("some text")}, []byte("some text")))
}
