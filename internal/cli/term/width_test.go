package term

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWidth(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "abc": 3, "é": 1, "e\u0301": 1, "名前": 4, "✓ ├ │": 5, "👍": 2, "ﾊ": 1, "Ａ": 2} {
		assert.Equal(t, want, Width(text), text)
	}
}

func TestTextIsCutToAWidth(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "abc", CutEnd("abc", 3, "…"))
	assert.Equal(t, "ab…", CutEnd("abcd", 3, "…"))
	assert.Equal(t, "a...", CutEnd("abcdef", 4, "..."))
	assert.Equal(t, "名…", CutEnd("名前前", 4, "…"), "a wide character is not halved")
	for width := 3; width < 12; width++ {
		for _, text := range []string{"abcdefghijklmnop", "名前名前名前名前名", "e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301"} {
			assert.LessOrEqual(t, Width(CutMiddle(text, width, "…")), width)
			assert.LessOrEqual(t, Width(CutEnd(text, width, "...")), width)
		}
	}
	assert.Equal(t, "abc…nop", CutMiddle("abcdefghijklmnop", 7, "…"))
}

func TestTheEnvironmentSaysTheWidthAndTheCharacters(t *testing.T) {
	t.Parallel()
	at := func(env ...string) *Terminal { return &Terminal{Streams: Streams{Env: env}} }
	assert.Equal(t, 80, at().Columns())
	assert.Equal(t, 132, at("COLUMNS=132").Columns())
	assert.Equal(t, 80, at("COLUMNS=wide").Columns())
	assert.Equal(t, 80, at("COLUMNS=-3").Columns())

	for env, want := range map[string]bool{
		"LANG=en_GB.UTF-8": false, "LANG=C.utf8": false, "LC_ALL=C": true, "LANG=": true, "LANG=de_DE.ISO-8859-1": true,
		"LC_CTYPE=ja_JP.UTF-8": true, "LANG=zh_CN.UTF-8": true, "LANG=ko_KR.UTF-8": true,
	} {
		assert.Equal(t, want, at(env).PlainASCII(), env)
	}
	assert.True(t, at("LANG=en_GB.UTF-8", "TERM=dumb").PlainASCII())
	assert.True(t, at("LANG=en_GB.UTF-8", "GIT_SMITHERS_ASCII=1").PlainASCII())
	assert.False(t, at("LANG=ja_JP.UTF-8", "GIT_SMITHERS_ASCII=0").PlainASCII())
	assert.True(t, at("LANG=en_GB.UTF-8", "LC_ALL=C").PlainASCII())
}
