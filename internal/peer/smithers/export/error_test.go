package export

import (
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestWhatSQLiteMayNotWriteIsReadOnly(t *testing.T) {
	t.Parallel()
	err := explainWrite("x.db", cannotTake("x.db", fmt.Errorf("%w: attempt to write a readonly database", fs.ErrPermission)))
	assert.Equal(t, fault.ReadOnly, fault.CodeOf(err))
	assert.EqualError(t, err, "x.db: permission denied: attempt to write a readonly database")
}
