package compare

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/jjbridge"
)

func TestGitsListOfChangesIsRead(t *testing.T) {
	t.Parallel()
	assert.Empty(t, readNameStatus(""))
	assert.Equal(t, []jjbridge.PathChange{
		{Path: "new\nline", Op: jjbridge.OpAdd},
		{Path: "b", Op: jjbridge.OpModify},
		{Path: "c", Op: jjbridge.OpModify},
		{Path: "d", Op: jjbridge.OpRemove},
	}, readNameStatus("A\x00new\nline\x00M\x00b\x00T\x00c\x00D\x00d\x00"))
}
