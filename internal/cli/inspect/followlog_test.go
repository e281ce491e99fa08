package inspect

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLogsAreHandedOnInWholeLines(t *testing.T) {
	t.Parallel()
	var got []string
	w := &lineWriter{line: func(line string) error {
		got = append(got, line)
		return nil
	}}
	for _, part := range []string{"one\ntw", "o\n", "\n", "last"} {
		n, err := w.Write([]byte(part))
		require.NoError(t, err)
		assert.Equal(t, len(part), n)
	}
	assert.Equal(t, []string{"one", "two", ""}, got)
	require.NoError(t, w.finish())
	assert.Equal(t, []string{"one", "two", "", "last"}, got)
}
