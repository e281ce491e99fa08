package term

import (
	"os"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// defaultColumns is the width of a terminal that does not say it.
const defaultColumns = 80

// Columns returns the width of the terminal at standard output: the variable COLUMNS if it is a number, else the size that the
// terminal says, else 80. It must be called before the pager starts.
func (s *Terminal) Columns() int {
	if text, ok := s.LookupEnv("COLUMNS"); ok {
		if n, err := strconv.Atoi(text); err == nil && n > 0 {
			return n
		}
	}
	if file, ok := s.RawOut().(*os.File); ok {
		if n, _, err := term.GetSize(int(file.Fd())); err == nil && n > 0 {
			return n
		}
	}
	return defaultColumns
}

// PlainASCII reports whether text of ours should have ASCII characters alone. GIT_SMITHERS_ASCII decides if it is 1 or 0. Otherwise
// the text is ASCII for a terminal named dumb, and for a locale that is not UTF-8 or in which symbols and lines can be two columns
// wide: Chinese, Japanese and Korean.
func (s *Terminal) PlainASCII() bool {
	switch wish, _ := s.LookupEnv("GIT_SMITHERS_ASCII"); wish {
	case "1":
		return true
	case "0":
		return false
	}
	if kind, _ := s.LookupEnv("TERM"); kind == "dumb" {
		return true
	}
	locale := ""
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale, _ = s.LookupEnv(name); locale != "" {
			break
		}
	}
	locale = strings.ToLower(locale)
	if !strings.Contains(locale, "utf-8") && !strings.Contains(locale, "utf8") {
		return true
	}
	language := locale[:min(2, len(locale))]
	return language == "zh" || language == "ja" || language == "ko"
}

// Width returns how many columns a text has on a terminal. The text has no control characters.
func Width(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// runeWidth returns how many columns a character has: 0 if it is drawn on the character before, 2 for a wide one.
func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me) || isInvisible(r):
		return 0
	case r < 0x1100:
		return 1
	}
	for _, wide := range wideRanges {
		if r >= wide[0] && r <= wide[1] {
			return 2
		}
	}
	return 1
}

// wideRanges has the characters that are two columns wide: of East Asian scripts, and emojis.
var wideRanges = [...][2]rune{
	{0x1100, 0x115f},
	{0x2e80, 0x303e},
	{0x3041, 0x33ff},
	{0x3400, 0x4dbf},
	{0x4e00, 0x9fff},
	{0xa000, 0xa4cf},
	{0xa960, 0xa97f},
	{0xac00, 0xd7a3},
	{0xf900, 0xfaff},
	{0xfe30, 0xfe6f},
	{0xff00, 0xff60},
	{0xffe0, 0xffe6},
	{0x1f300, 0x1f64f},
	{0x1f680, 0x1f6ff},
	{0x1f900, 0x1f9ff},
	{0x1fa70, 0x1faff},
	{0x20000, 0x3fffd},
}

// CutEnd returns s unchanged if it has at most width columns. Otherwise it returns the beginning of s and mark, in at most width
// columns.
func CutEnd(s string, width int, mark string) string {
	if Width(s) <= width {
		return s
	}
	return head(s, max(width-Width(mark), 0)) + mark
}

// CutMiddle returns s unchanged if it has at most width columns. Otherwise it returns the beginning of s, mark and the end of s, in
// at most width columns.
func CutMiddle(s string, width int, mark string) string {
	if Width(s) <= width {
		return s
	}
	room := max(width-Width(mark), 0)
	begin := head(s, room-room/2)
	runes, left := []rune(s), room/2
	end := len(runes)
	for end > 0 && runeWidth(runes[end-1]) <= left {
		end--
		left -= runeWidth(runes[end])
	}
	return begin + mark + string(runes[end:])
}

// head returns the beginning of s that has at most width columns.
func head(s string, width int) string {
	for i, r := range s {
		if width -= runeWidth(r); width < 0 {
			return s[:i]
		}
	}
	return s
}

// Visible returns s with Go escapes in place of invisible characters, which can make two ids look the same, or hide text.
func Visible(s string) string { return visible(s) }
