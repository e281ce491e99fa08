package term

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWhatCannotBeSeenIsEscaped(t *testing.T) {
	t.Parallel()
	for r, shown := range map[rune]string{
		0x00ad: `\u00ad`, 0x034f: `\u034f`, 0x061c: `\u061c`, 0x115f: `\u115f`, 0x180e: `\u180e`,
		0x200b: `\u200b`, 0x200c: `\u200c`, 0x200d: `\u200d`, 0x200e: `\u200e`, 0x200f: `\u200f`,
		0x2028: `\u2028`, 0x2029: `\u2029`, 0x202a: `\u202a`, 0x202e: `\u202e`,
		0x2060: `\u2060`, 0x2064: `\u2064`, 0x2066: `\u2066`, 0x2069: `\u2069`, 0x3164: `\u3164`,
		0xfe00: `\ufe00`, 0xfe0f: `\ufe0f`, 0xfeff: `\ufeff`, 0xfff9: `\ufff9`, 0xfffb: `\ufffb`,
		0xe0000: `\U000e0000`, 0xe0041: `\U000e0041`, 0xe007f: `\U000e007f`, 0xe0100: `\U000e0100`, 0xe01ef: `\U000e01ef`,
	} {
		assert.Equal(t, "a"+shown+"b", visible("a"+string(r)+"b"), "%U", r)
	}
	for name, text := range map[string]string{
		"nothing": "", "words": "größer → 日本", "colours": "\x1b[36mrunning\x1b[m", "an accent of its own": "e\u0301",
		"a family": "👩\u200d👩\u200d👧", "a heart": "❤\ufe0f", "a couple": "👩\u200d❤\ufe0f\u200d👨", "a keycap": "1\ufe0f\u20e3",
		"skin": "👩🏽\u200d🚀", "a flag": "🏳\ufe0f\u200d🌈", "an Arabic number sign": "\u0600",
	} {
		assert.Equal(t, text, visible(text), name)
	}
	assert.Equal(t, `a👩\u200d`, visible("a👩\u200d"), "a joiner that joins nothing")
	assert.Equal(t, "❤\ufe0f"+`\ufe0f`, visible("❤\ufe0f\ufe0f"), "the second one says nothing")
	assert.Equal(t, "\xff"+`\u200b`, visible("\xff\u200b"), "other bytes stay")
}

func FuzzVisible(f *testing.F) {
	for _, s := range []string{"", "a", "\u200b", "👩\u200d👩", "\xff\u200d", "\U000e0041"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		shown := visible(s)
		assert.Equal(t, shown, visible(shown))
		for _, r := range "\u200b\u202e\ufeff\U000e0041\U000e0100" {
			assert.False(t, strings.ContainsRune(shown, r))
		}
	})
}
