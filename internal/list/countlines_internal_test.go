package list

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/sqliteindex"
)

func TestReadNumstat(t *testing.T) {
	t.Parallel()
	a, b, c := strings.Repeat("a", 40), strings.Repeat("b", 40), strings.Repeat("c", 40)
	counted, last, err := readNumstat(strings.NewReader(a + " " + b + "\n1\t2\tfile\n-\t-\tbinary\n10\t0\t\"with\\ttab\"\n" + b + " " + c + "\n"))
	require.NoError(t, err)
	first, err := parsePair(a + " " + b + "\n")
	require.NoError(t, err)
	second, err := parsePair(b + " " + c + "\n")
	require.NoError(t, err)
	assert.Equal(t, map[sqliteindex.TreePair]sqliteindex.Lines{first: {Added: 11, Removed: 2}, second: {}}, counted)
	assert.Equal(t, second, last, "this one is not whole if git did not end well")

	_, _, err = readNumstat(strings.NewReader("fatal nonsense\n"))
	assert.ErrorContains(t, err, "unexpected answer")
}
