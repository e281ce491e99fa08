package app

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/internal/list"
)

func TestRunsThatAreForksOfEachOtherHaveNoFinishedFork(t *testing.T) {
	t.Parallel()
	a, b := list.RunInfo{RunID: "a", ParentRunID: new("b"), CreatedAtMs: 1, Status: "failed"}, list.RunInfo{RunID: "b", ParentRunID: new("a"), CreatedAtMs: 1, Status: "failed"}
	c := list.RunInfo{RunID: "c", ParentRunID: new("b"), CreatedAtMs: 2, Status: "finished"}

	assert.Empty(t, finishedFork([]list.RunInfo{a, b}, "a", 0))
	assert.Equal(t, "c", finishedFork([]list.RunInfo{a, b, c}, "a", 0))
	assert.Empty(t, finishedFork([]list.RunInfo{a, b, c}, "c", 0))
	assert.Empty(t, finishedFork([]list.RunInfo{a, b, c}, "a", 3), "it was made before the failure")
}
