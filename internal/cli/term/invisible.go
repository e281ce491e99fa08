package term

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	zeroWidthJoiner = '\u200d'
	emojiStyle      = '\ufe0f'
)

// visible returns s with Go escapes such as \u200b in place of invisible characters (see isInvisible). Invisible
// characters can make two ids look the same, or hide text.
//
// Two kinds of invisible characters stay if they are part of an emoji: the style selector after an emoji, and the
// joiner between two emojis. All visible characters stay. Control characters stay too, because package plain escapes
// them.
func visible(s string) string {
	if strings.IndexFunc(s, isInvisible) < 0 {
		return s
	}
	var b strings.Builder
	var before, symbol rune // the previous character, and the last one that is neither a style nor a skin colour
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		this := s[:size]
		s = s[size:]
		after, _ := utf8.DecodeRuneInString(s)
		switch {
		case !isInvisible(r),
			r == emojiStyle && isEmojiBase(before),
			r == zeroWidthJoiner && isSymbol(symbol) && isSymbol(after):
			b.WriteString(this)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		if before = r; r != emojiStyle && !isSkin(r) {
			symbol = r
		}
	}
	return b.String()
}

// isInvisible reports whether r is a character that a terminal does not show itself, for example because it only
// changes how other characters are shown. It returns false for all ASCII characters.
func isInvisible(r rune) bool {
	if r < utf8.RuneSelf {
		return false
	}
	return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) &&
		!unicode.Is(unicode.Prepended_Concatenation_Mark, r) // visible, although of category Cf
}

// isEmojiBase reports whether r becomes an emoji if a style selector follows it. This is so for symbols, and for the
// characters of keycaps, such as digits.
func isEmojiBase(r rune) bool {
	return isSymbol(r) || unicode.Is(unicode.Sm, r) || strings.ContainsRune("0123456789#*\u00a9\u00ae\u203c\u2049\u3030\u303d", r)
}

// isSymbol reports whether r can be part of an emoji that joins several symbols.
func isSymbol(r rune) bool { return unicode.Is(unicode.So, r) && r != utf8.RuneError }

// isSkin reports whether r is one of the five skin colours of emojis.
func isSkin(r rune) bool { return r >= 0x1f3fb && r <= 0x1f3ff }
