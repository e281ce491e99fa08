package page_test

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/objstore"
)

// countingStore counts what passes through a store.
type countingStore struct {
	objstoretest.Memory

	mu                      sync.Mutex
	reads, adds, addedBytes int
}

func (s *countingStore) Get(id objstore.ID) (objstore.Kind, []byte, error) {
	s.mu.Lock()
	s.reads++
	s.mu.Unlock()
	return s.Memory.Get(id)
}

func (s *countingStore) Add(kind objstore.Kind, data []byte) objstore.ID {
	s.mu.Lock()
	s.adds++
	s.addedBytes += len(data)
	s.mu.Unlock()
	return s.Memory.Add(kind, data)
}

func (s *countingStore) reset() { s.reads, s.adds, s.addedBytes = 0, 0, 0 }

// build makes a collection of rows in one edit.
func build(t require.TestingT, w objstore.Writer, rows map[string]string) *page.Collection {
	empty, err := page.Open(w, objstore.ID{})
	require.NoError(t, err)
	return edit(t, w, empty, rows)
}

// edit sets rows; the empty value removes one.
func edit(t require.TestingT, w objstore.Writer, c *page.Collection, rows map[string]string) *page.Collection {
	next, err := c.Edit(w, changes(rows))
	require.NoError(t, err)
	return next
}

func changes(rows map[string]string) []page.Change {
	var out []page.Change
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		change := page.Change{Key: key}
		if rows[key] != "" {
			change.Value = []byte(rows[key])
		}
		out = append(out, change)
	}
	return out
}

// contents reads every row.
func contents(t require.TestingT, c *page.Collection) map[string]string {
	rows := make(map[string]string)
	for row, err := range c.Rows() {
		require.NoError(t, err)
		rows[row.Key] = string(row.Value)
	}
	return rows
}

// nodeRows are n rows like those of a run's outputs, about size bytes each.
func nodeRows(n, size int) map[string]string {
	rows := make(map[string]string, n)
	for i := range n {
		rows[nodeKey(i)] = nodeValue(i, size)
	}
	return rows
}

func nodeKey(i int) string { return fmt.Sprintf("task-%d::0", i) }

func nodeValue(i, size int) string {
	return fmt.Sprintf(`{"summary":"%0*d"}`, max(1, size-len(`{"summary":""}`)), i)
}

// text is n bytes of a JSON string that no two seeds share and that does not repeat.
func text(seed uint64, n int) string {
	const letters = "abcdefghijklmnopqrstuvwxyz 0123456789"
	out := make([]byte, n)
	out[0], out[n-1] = '"', '"'
	for i := 1; i < n-1; i++ {
		seed = seed*6364136223846793005 + 1442695040888963407
		out[i] = letters[(seed>>33)%uint64(len(letters))]
	}
	return string(out)
}

// verified fails the test unless the collection is sound, also when opened afresh.
func verified(t testing.TB, r objstore.Reader, c *page.Collection) {
	t.Helper()
	require.NoError(t, c.Verify())
	opened, err := page.Open(r, c.ID())
	require.NoError(t, err)
	require.Equal(t, c.Len(), opened.Len())
}
