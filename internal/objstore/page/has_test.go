package page_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/objstore"
)

func TestHasTellsARowFromNone(t *testing.T) {
	t.Parallel()
	for _, rows := range []int{0, 1, 40, 500} {
		c, err := page.Open(nil, objstore.ID{})
		require.NoError(t, err)
		var changes []page.Change
		for i := range rows {
			changes = append(changes, page.Change{Key: fmt.Sprint("row ", i), Value: []byte("1")})
		}
		c, err = c.Edit(new(objstoretest.Memory), changes)
		require.NoError(t, err)
		for i := range rows + 3 {
			has, err := c.Has(fmt.Sprint("row ", i))
			require.NoError(t, err)
			assert.Equal(t, i < rows, has)
		}
	}
}
