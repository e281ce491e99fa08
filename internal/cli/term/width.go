package term

import (
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
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
	if !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return len(s) // the usual case, and much faster
	}
	return uniseg.StringWidth(s)
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
	end, left, state := s, Width(s), -1
	for left > room/2 {
		var columns int
		_, end, columns, state = uniseg.FirstGraphemeClusterInString(end, state)
		left -= columns
	}
	return head(s, room-room/2) + mark + end
}

// head returns the beginning of s that has at most width columns.
func head(s string, width int) string {
	rest, state := s, -1
	for rest != "" {
		at := len(s) - len(rest)
		var columns int
		_, rest, columns, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if width -= columns; width < 0 {
			return s[:at]
		}
	}
	return s
}

// Visible returns s with Go escapes in place of invisible characters, which can make two ids look the same, or hide text.
func Visible(s string) string { return visible(s) }
