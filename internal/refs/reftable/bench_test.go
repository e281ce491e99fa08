package reftable_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/refs/reftable"
	"github.com/git-smithers/git-smithers/objstore"
)

// manyRefs returns a stack with 10,000 refs in one table of git, and an id.
func manyRefs(b *testing.B) (*stackOf, objstore.ID) {
	b.Helper()
	s := newStack(b, objstore.SHA1)
	id := s.ids(1)[0]
	var input strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&input, "create refs/many/%05d %v\n", i, id)
	}
	s.GitInput(input.String(), "update-ref", "--stdin")
	s.Git("pack-refs", "--all")
	return s, id
}

// BenchmarkAppend creates a ref beside 10,000 others.
func BenchmarkAppend(b *testing.B) {
	s, id := manyRefs(b)
	opts := s.options()
	opts.Sync, opts.SyncNames = false, false
	n := 0
	for b.Loop() {
		n++
		_, err := s.Append(b.Context(), []reftable.Change{{Name: fmt.Sprintf("refs/x/%d", n), New: id}}, opts)
		require.NoError(b, err)
	}
}

// BenchmarkGet opens a stack and looks one of 10,000 refs up.
func BenchmarkGet(b *testing.B) {
	s, _ := manyRefs(b)
	n := 0
	for b.Loop() {
		n = (n + 7) % 10_000
		view, err := reftable.Open(s.dir, s.hash).Look()
		require.NoError(b, err)
		_, found, err := view.Get(fmt.Sprintf("refs/many/%05d", n))
		require.NoError(b, err)
		require.True(b, found)
	}
}

// BenchmarkEach opens a stack and lists 10,000 refs.
func BenchmarkEach(b *testing.B) {
	s, _ := manyRefs(b)
	for b.Loop() {
		view, err := reftable.Open(s.dir, s.hash).Look()
		require.NoError(b, err)
		count := 0
		for _, err := range view.Each("refs/many/", "") {
			if err == nil {
				count++
			}
		}
		require.Equal(b, 10_000, count)
	}
}
