package diff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	anchored "github.com/rogpeppe/go-internal/diff"

	"github.com/git-smithers/git-smithers/internal/jsontext"
)

// The limits for indenting a value: its depth of nesting, and its size in bytes. A value beyond a limit is shown
// without indentation, because a few bytes of nesting could become megabytes of indentation.
const (
	maxLayoutDepth = 100
	maxLayoutSize  = 8 << 20
)

// valueLine is one line of a value.
type valueLine struct {
	mark  mark
	text  string
	focus int // offset of the byte that stays visible if the line is shortened
}

// layOut returns value with indentation, and an LF at the end of each line. It changes neither numbers nor strings
// nor the order of members. If value is malformed or exceeds maxLayoutDepth or maxLayoutSize, layOut returns value
// unchanged, but with an LF. If value is nil, the result is nil.
func layOut(value json.RawMessage) []byte {
	if value == nil {
		return nil
	}
	var out bytes.Buffer
	if len(value) > maxLayoutSize || jsontext.DeeperThan(value, maxLayoutDepth) || json.Indent(&out, value, "", "  ") != nil {
		out.Reset()
		out.Write(value)
	}
	out.WriteByte('\n')
	return out.Bytes()
}

// valueLines returns the lines of value, without line feeds, in the layout of layOut. A nil value has one empty line.
func valueLines(value json.RawMessage) []string {
	return strings.Split(strings.TrimSuffix(string(layOut(value)), "\n"), "\n")
}

// compactValue returns value without white space and true. It returns "" and false if value is malformed or
// longer than 2*maxColumns bytes.
func compactValue(value json.RawMessage) (string, bool) {
	if len(value) > 2*maxColumns {
		return "", false
	}
	var out bytes.Buffer
	if err := json.Compact(&out, value); err != nil {
		return "", false
	}
	return out.String(), true
}

// diffValues returns the lines that differ between two indented values, with three lines of context. A line "..."
// separates distant differences. diffValues returns no lines if the indented values are equal. It ignores commas at
// the ends of lines: otherwise a member would differ if another member is added after it.
func diffValues(from, to json.RawMessage) []valueLine {
	text := string(anchored.Diff("from", dropCommas(layOut(from)), "to", dropCommas(layOut(to))))
	_, hunks, found := strings.Cut(text, "\n@@")
	if !found {
		return nil
	}
	var lines []valueLine
	for i, line := range strings.Split(strings.TrimSuffix(hunks, "\n"), "\n") {
		switch {
		case i == 0: // the rest of the first hunk's header
		case strings.HasPrefix(line, "@@"):
			lines = append(lines, valueLine{mark: plain, text: "..."})
		// Every line of a hunk begins with a mark. This case only guards line[0].
		case line == "":
		default:
			lines = append(lines, valueLine{mark: lineMark(line[0]), text: line[1:]})
		}
	}
	focusPairs(lines)
	return lines
}

// dropCommas returns an indented value without the commas at the ends of lines.
func dropCommas(layout []byte) []byte {
	return bytes.ReplaceAll(layout, []byte(",\n"), []byte("\n"))
}

// lineMark returns the mark of a line in a unified diff: added for '+', removed for '-', and plain otherwise. c is
// the first byte of the line.
func lineMark(c byte) mark {
	switch mark(c) {
	case added:
		return added
	case removed:
		return removed
	case plain, changed:
	}
	return plain
}

// focusPairs sets the focus of removed lines, and of the added lines that replace them, to the offset of the first byte
// that differs. It changes only a block of removed lines that is followed by as many added lines.
func focusPairs(lines []valueLine) {
	for i := 0; i < len(lines); {
		n := run(lines[i:], removed)
		if n == 0 {
			i++
			continue
		}
		if run(lines[i+n:], added) == n {
			for k := i; k < i+n; k++ {
				focus := commonPrefix(lines[k].text, lines[k+n].text)
				lines[k].focus, lines[k+n].focus = focus, focus
			}
		}
		i += n
	}
}

// commonPrefix returns the length in bytes of the longest common prefix of a and b.
func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// shorten returns text unchanged if it has at most maxColumns bytes, or up to a quarter more. Otherwise it returns a
// part of about maxColumns bytes that includes the offset focus, with the sizes of the omitted parts before and
// after.
func shorten(text string, focus int) string {
	if len(text) <= maxColumns+maxColumns/4 {
		return text
	}
	start := 0
	if focus > maxColumns/2 {
		start = focus - maxColumns/4
	}
	end := min(start+maxColumns, len(text))
	// Both ends move to the beginning of a character.
	for start > 0 && start < len(text) && !utf8.RuneStart(text[start]) {
		start++
	}
	for end < len(text) && !utf8.RuneStart(text[end]) {
		end--
	}
	out := text[start:end]
	if start > 0 {
		out = fmt.Sprintf("(%d bytes) ...%s", start, out)
	}
	if end < len(text) {
		out = fmt.Sprintf("%s... (%d bytes)", out, len(text)-end)
	}
	return out
}

// printable returns s with all characters escaped that could control a terminal or deceive a reader. These are control
// characters, direction marks, and bytes that are not UTF-8. It writes the escapes of Go strings, such as \x1b and
// \u202e.
func printable(s string) string {
	if strings.IndexFunc(s, unprintable) < 0 && utf8.ValidString(s) {
		return s
	}
	var out strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, `\x%02x`, s[0])
		case !unprintable(r):
			out.WriteString(s[:size])
		case r > 0xffff:
			fmt.Fprintf(&out, `\U%08x`, r)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
		s = s[size:]
	}
	return out.String()
}

// unprintable reports whether printable must escape r.
func unprintable(r rune) bool { return !unicode.IsPrint(r) }
