package lru_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/internal/lru"
)

func one(int) int64 { return 1 }

func TestWhatWasUsedLongestAgoIsForgotten(t *testing.T) {
	t.Parallel()
	c := lru.New[string](2, one)
	c.Put("a", 1)
	c.Put("b", 2)
	_, found := c.Get("a")
	assert.True(t, found)
	c.Put("c", 3)
	_, found = c.Get("b")
	assert.False(t, found)
	for key, want := range map[string]int{"a": 1, "c": 3} {
		got, found := c.Get(key)
		assert.True(t, found, key)
		assert.Equal(t, want, got)
	}
}

func TestTheLimitIsOnTheSumOfCosts(t *testing.T) {
	t.Parallel()
	c := lru.New[string](10, func(v int) int64 { return int64(v) })
	c.Put("a", 4)
	c.Put("b", 6)
	_, found := c.Get("a")
	assert.True(t, found)
	c.Put("c", 6)
	_, found = c.Get("b")
	assert.False(t, found)
	_, found = c.Get("a")
	assert.True(t, found)
	c.Put("d", 11)
	_, found = c.Get("d")
	assert.False(t, found, "what costs more than the limit is not kept")
}

func TestACacheThatHoldsNothingIsNoError(t *testing.T) {
	t.Parallel()
	c := lru.New[string](0, one)
	c.Put("a", 1)
	_, found := c.Get("a")
	assert.False(t, found)
}

func TestGoroutinesShareACache(t *testing.T) {
	t.Parallel()
	c := lru.New[int](8, one)
	var group sync.WaitGroup
	for g := range 4 {
		group.Go(func() {
			for i := range 1000 {
				c.Put(i%16, i%16)
				if got, found := c.Get((i + g) % 16); found && got != (i+g)%16 {
					t.Errorf("got %d", got)
				}
			}
		})
	}
	group.Wait()
}
