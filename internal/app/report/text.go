package report

import (
	"regexp"
	"strings"
	"sync"

	"github.com/git-smithers/git-smithers/internal/plain"
)

// escapes matches what terminals take for commands: CSI (colours and cursors), OSC and the like (titles, links), and
// two-character escapes. An unfinished one ends with its line.
var escapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]?|[\\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\\\)?|[ -/]*[0-~]?)")
})

// readable returns the text of a log without the commands to a terminal. A line that was written over by carriage returns
// is what stood there at last.
func readable(log string) string {
	log = escapes().ReplaceAllString(log, "")
	if !strings.Contains(log, "\r") {
		return log
	}
	lines := strings.Split(log, "\n")
	for i, line := range lines {
		line = strings.TrimRight(line, "\r")
		lines[i] = line[strings.LastIndexByte(line, '\r')+1:]
	}
	return strings.Join(lines, "\n")
}

// badLine matches lines of logs that people look for first.
var badLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^\W*(?:(?:not ok|fail(?:ed|ure)?|errors?|fatal|panic|exception|traceback|assert\w*|[A-Z]\w*(?:Error|Exception))\b)`)
})

// cut returns text cut to most characters, and the number of bytes that are left out.
func cut(text string, most int) (string, int) {
	at, n := 0, 0
	for at = range text {
		if n == most {
			return text[:at], len(text) - at
		}
		n++
	}
	return text, 0
}

// oneLine returns text on one line of at most most characters, with "…" if something is left out.
func oneLine(text string, most int) string {
	return plain.Shorten(strings.Join(strings.Fields(text), " "), most)
}

// orEmpty returns *text, or "" if text is nil.
func orEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
