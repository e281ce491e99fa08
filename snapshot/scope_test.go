package snapshot_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/snapshot"
)

func TestScopeOfNestedLoops(t *testing.T) {
	scope := snapshot.ScopeWithin("", "outer", 1)
	assert.Equal(t, "@@outer=1", scope, "as Smithers writes it")
	deeper := snapshot.ScopeWithin(scope, "inner", 0)
	assert.Equal(t, "@@outer=1,inner=0", deeper)
	assert.Equal(t, deeper, snapshot.ScopeWithin(deeper, "", 7), "a task that is in no loop adds nothing")

	logical, got := snapshot.SplitScope("write" + deeper)
	assert.Equal(t, "write", logical)
	assert.Equal(t, deeper, got)
	logical, got = snapshot.SplitScope("write")
	assert.Equal(t, "write", logical)
	assert.Empty(t, got)
}

func TestLoopsAroundANode(t *testing.T) {
	type at struct {
		loop      string
		iteration int
	}
	around := func(loop string, iteration int) (all []at) {
		for l, i := range snapshot.LoopsAround(&loop, iteration) {
			all = append(all, at{l, i})
		}
		return all
	}
	assert.Equal(t, []at{{"core@@outer=1,inner=0", 4}, {"inner@@outer=1", 0}, {"outer", 1}}, around("core@@outer=1,inner=0", 4))
	assert.Equal(t, []at{{"outer", 3}}, around("outer", 3))
	for range snapshot.LoopsAround(nil, 0) {
		t.Error("a task that is in no loop has loops around it")
	}
	for _, strange := range []string{"x@@", "x@@outer", "x@@=1", "x@@outer=-1", "x@@outer=01", "x@@outer=1,"} {
		_, _, ok := snapshot.OuterLoop(strange)
		assert.False(t, ok, strange)
	}
}
