package dialect

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A fetched session can name any ids.
func TestIDsThatArePartsOfTheNewIDDoNotMakeALineGrow(t *testing.T) {
	t.Parallel()
	c := Course{Sessions: slices.Repeat([]string{"a", "b", "-"}, 4), Session: "aabb-aabb-aabb", Dir: "/new"}
	line := c.rewrite([]byte(`{"x":"a"}` + strings.Repeat(" ", 3)))
	assert.Len(t, line, len(c.Session)+len(`{"x":""}   `))
}
