package objstore

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestAPackIsDatedAfterThoseThatItReplacesAndBeforeNow(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	rapid.Check(t, func(t *rapid.T) {
		age := time.Duration(rapid.Int64Range(0, int64(2*backdated)).Draw(t, "age"))
		replaced := mergePack{made: now.Add(-age)}
		made := datedAfter(now, replaced.made)
		assert.Greater(t, made.Unix(), replaced.made.Unix(), "by git's precision")
		if !replaced.isYoung(now) {
			assert.Less(t, made.Unix(), now.Unix(), "older than what git packs now")
		}
		assert.False(t, age >= ripe+gitPrecision && replaced.isYoung(now))
	})
	assert.Equal(t, now.Add(-backdated), datedAfter(now, time.Time{}))
}
