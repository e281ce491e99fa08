package redact_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/redact"
)

// masked writes text to a stream in pieces, whose sizes next gives, and returns what the stream passes on with its secrets
// replaced by "#".
func masked(f *redact.Finder, text string, next func() int, pause bool) string {
	var out strings.Builder
	s := redact.NewStream(f, func(text []byte, found []redact.Finding) {
		from := 0
		for _, f := range found {
			out.Write(text[from:f.Start])
			out.WriteByte('#')
			from = f.End
		}
		out.Write(text[from:])
	})
	for text != "" {
		n := min(max(1, next()), len(text))
		s.Write([]byte(text[:n]))
		text = text[n:]
		if pause {
			s.Pause()
		}
	}
	s.Close()
	return out.String()
}

func TestAStreamMasksWhereverItIsCut(t *testing.T) {
	t.Parallel()
	m, f := newMaker(31), redact.NewFinder(nil)
	same, all := 0, 0
	for range 120 {
		var b strings.Builder
		for range 6 {
			b.WriteString(m.fill("{T} INFO worker {d1} finished step {d2}\n") + m.secretSample().text + "\n")
		}
		text := b.String()
		whole := masked(f, text, func() int { return len(text) }, false)
		all++
		if masked(f, text, func() int { return m.IntN(40) }, false) == whole {
			same++
		}
	}
	t.Logf("%d of %d streams are as if they were whole", same, all)
	assert.GreaterOrEqual(t, same, all*98/100)
}

func TestAKnownValueIsMaskedWhereverTheStreamIsCut(t *testing.T) {
	t.Parallel()
	const secret = "a-long/pass+word in \"quotes\""
	f := redact.NewFinder([]redact.Value{{Name: "PASS", Text: secret}})
	text := "before " + secret + " between " + secret + secret + "\nafter a-long/pass+word in \"quotesa-long"
	for size := 1; size < len(text); size++ {
		require.Equal(t, "before # between ##\nafter a-long/pass+word in \"quotesa-long", masked(f, text, func() int { return size }, true), size)
	}
}

func TestAStreamPassesLinesOn(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	s := redact.NewStream(redact.NewFinder(nil), func(text []byte, _ []redact.Finding) { got.Write(text) })
	s.Write([]byte("one\ntw"))
	assert.Equal(t, "one\n", got.String())
	s.Pause()
	assert.Equal(t, "one\ntw", got.String())
	s.Write([]byte("o\nwaiting for a token\n"))
	s.Pause()
	assert.Equal(t, "one\ntwo\nwaiting for a token\n", got.String(), "a line that is complete")
	s.Write([]byte("-----BEGIN PRIVATE KEY-----\nMIIE"))
	s.Pause()
	assert.NotContains(t, got.String(), "BEGIN")
	s.Close()
	assert.Contains(t, got.String(), "MIIE", "the text, whose secrets the receiver masks")
}

func TestADroppedTextIsNotPassedOnAndStillHidesASecret(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s := redact.NewStream(redact.NewFinder([]redact.Value{{Name: "X", Text: "correct-horse-9"}}), func(text []byte, found []redact.Finding) {
		for _, f := range found {
			copy(text[f.Start:f.End], strings.Repeat("#", f.End-f.Start))
		}
		out.Write(text)
	})
	s.Write([]byte("one correct-ho"))
	s.Drop()
	s.Write([]byte("rse-9 two\n"))
	s.Close()
	assert.Equal(t, "##### two\n", out.String())
}

func TestAStreamHoldsBackABoundedAmount(t *testing.T) {
	t.Parallel()
	const most = 40 << 10
	for name, text := range map[string]string{
		"one long line": "x ", "base64": "QUJD", "the beginnings of secrets": "password=\n", "key blocks": "-----BEGIN PRIVATE KEY-----\n",
	} {
		written, passed := 0, 0
		s := redact.NewStream(redact.NewFinder(nil), func(text []byte, _ []redact.Finding) { passed += len(text) })
		for range 8 {
			p := []byte(strings.Repeat(text, 10000/len(text)))
			s.Write(p)
			written += len(p)
			require.LessOrEqual(t, written-passed, most, name)
		}
		s.Close()
		require.Equal(t, written, passed)
	}
}
