package delta_test

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/git-smithers/git-smithers/internal/objstore/delta"
)

func FuzzDelta(f *testing.F) {
	f.Add([]byte("hello"), delta.Make([]byte("hello"), []byte("hello, world")))
	f.Add([]byte("0123456789abcdef"), []byte{16, 32, 0x90, 16, 0x90, 16})
	f.Fuzz(func(t *testing.T, base, made []byte) {
		const limit = 1 << 16
		out, err := delta.Apply(base, made, limit)
		if err != nil {
			require.ErrorIs(t, err, delta.ErrMalformed)
			require.Nil(t, out)
			return
		}
		require.LessOrEqual(t, len(out), limit)
		if len(out) == 0 {
			return // no delta of ours makes nothing
		}
		again, err := delta.Apply(base, delta.Make(base, out), limit)
		require.NoError(t, err)
		require.True(t, bytes.Equal(out, again))
		if len(out) > 0 && len(base) > 0 { // go-git has rules of its own for what is empty
			theirs, err := packfile.PatchDelta(base, made)
			require.NoError(t, err)
			require.True(t, bytes.Equal(theirs, out))
		}
	})
}

func TestADeltaMakesItsTarget(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "base")
		if rapid.Bool().Draw(t, "large") {
			base = bytes.Repeat(append(base, 1), 500)
		}
		target := bytes.Clone(base)
		for range rapid.IntRange(0, 4).Draw(t, "edits") {
			at := rapid.IntRange(0, len(target)).Draw(t, "at")
			gone := rapid.IntRange(0, min(30, len(target)-at)).Draw(t, "gone")
			put := rapid.SliceOfN(rapid.Byte(), 0, 30).Draw(t, "put")
			target = append(target[:at:at], append(put, target[at+gone:]...)...)
		}
		got, err := delta.Apply(base, delta.Make(base, target), 1<<20)
		if len(target) > 0 && (err != nil || !bytes.Equal(got, target)) {
			t.Fatalf("%v", err)
		}
	})
}

func TestADeltaOfAPageCopiesTheRowsThatStayed(t *testing.T) {
	t.Parallel()
	var older, newer []byte
	for i := range 9 {
		row := fmt.Appendf(nil, "[%q,%q]\n", strconv.Itoa(i), strings.Repeat(strconv.Itoa(i), 100))
		older = append(older, row...)
		if i%2 == 0 { // the other rows went to the page that was split off
			newer = append(newer, row...)
		}
	}
	made := delta.Make(newer, older)
	assert.Less(t, len(made), 4*110+40, "four rows are not in the newer page")
	got, err := delta.Apply(newer, made, 1<<20)
	require.NoError(t, err)
	assert.Equal(t, older, got)
}

func TestADeltaCopiesWhatIsAlikeWithinLines(t *testing.T) {
	t.Parallel()
	line := func(seq int) string {
		return fmt.Sprintf(`{"seq":%d,"timestampMs":%d,"type":"NodeFinished","nodeId":"n%d"}`+"\n", seq, 1795196864402+seq*77, seq%7)
	}
	base, target := line(101)+line(102), line(97)+line(98)+line(99)
	made := delta.Make([]byte(base), []byte(target))
	assert.Less(t, len(made), len(target)/2)
	got, err := delta.Apply([]byte(base), made, 1<<20)
	require.NoError(t, err)
	assert.Equal(t, target, string(got))
}

// git takes a delta of fewer than four bytes for damage.
func TestNoDeltaIsShorterThanGitTakes(t *testing.T) {
	t.Parallel()
	base := []byte("something")
	made := delta.Make(base, nil)
	require.Less(t, len(made), delta.MinSize, "it makes nothing")
	_, err := delta.Apply(base, made, 1<<20)
	require.ErrorIs(t, err, delta.ErrMalformed)
}

// Of a large base not every place is looked at.
func TestADeltaOfALargeBaseFindsWhatMoved(t *testing.T) {
	t.Parallel()
	var base []byte
	for i := range 20_000 {
		base = fmt.Appendf(base, "[%d,%q]\n", i, strconv.Itoa(i*i))
	}
	half := len(base) / 2
	target := append(append([]byte("new"), base[half:]...), base[:half]...)
	made := delta.Make(base, target)
	assert.Less(t, len(made), 1000)
	got, err := delta.Apply(base, made, 1<<20)
	require.NoError(t, err)
	assert.Equal(t, target, got)
}
