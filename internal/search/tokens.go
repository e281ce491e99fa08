package search

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// span is a part of a text, in bytes.
type span struct{ start, end int }

// scripts are written without blanks between words: each letter is a word of its own, and a word of a query is a phrase of them.
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
			if alone && !yield(span{i, i + utf8.RuneLen(r)}) {
				return
			}
			if word && !alone && start < 0 {
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
		return unicode.ToLower(r)
	}
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	if least < utf8.RuneSelf {
		return unicode.ToLower(least)
	}
	return least
}

// fold returns a text with each rune folded.
func fold(text string) string { return strings.Map(foldRune, text) }

// wordsOf returns the folded words of a text.
func wordsOf(text string) (words []string) {
	for t := range tokens(text) {
		words = append(words, fold(text[t.start:t.end]))
	}
	return words
}
