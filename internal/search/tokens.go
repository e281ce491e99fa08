package search

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// span is a part of a text, in bytes.
type span struct{ start, end int }

// scripts are written without spaces between words: each letter is a word of its own, and a word of a query is a phrase of them.
var scripts = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar}

// isWord reports whether a rune belongs to a word, and whether it is a word of its own.
func isWord(r rune) (word, alone bool) {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9', false
	}
	word = r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r))
	return word, word && unicode.In(r, scripts...)
}

// tokens yields the words of a text: letters, digits and marks next to each other.
func tokens(text string) iter.Seq[span] {
	return func(yield func(span) bool) {
		start := -1
		for i, r := range text {
			word, alone := isWord(r)
			if start >= 0 && (!word || alone) {
				if !yield(span{start, i}) {
					return
				}
				start = -1
			}
			switch {
			case alone:
				if !yield(span{i, i + utf8.RuneLen(r)}) {
					return
				}
			case word && start < 0:
				start = i
			}
		}
		if start >= 0 {
			yield(span{start, len(text)})
		}
	}
}

// foldRune returns the same rune for all runes that differ only in case, as a regular expression that ignores case sees it.
func foldRune(r rune) rune {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	if least < utf8.RuneSelf {
		return foldRune(least)
	}
	return least
}

// fold returns a text with each rune folded.
func fold(text string) string { return strings.Map(foldRune, text) }

// isFolded reports whether text, folded, is the folded text want.
func isFolded(text, want string) bool {
	for _, r := range text {
		w, size := utf8.DecodeRuneInString(want)
		if size == 0 || foldRune(r) != w {
			return false
		}
		want = want[size:]
	}
	return want == ""
}

// words returns the words of a text as the index has them: folded, with a blank between them.
func words(text string) string {
	var out strings.Builder
	out.Grow(len(text))
	for t := range tokens(text) {
		if out.Len() > 0 {
			out.WriteByte(' ')
		}
		out.WriteString(fold(text[t.start:t.end]))
	}
	return out.String()
}
