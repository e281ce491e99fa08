package transport

import (
	"bytes"
	"io"
	"strings"

	"github.com/git-smithers/git-smithers/internal/lazyregexp"
)

// progressLine matches a line of git's progress, and an empty line.
var progressLine = lazyregexp.New(
	`^(remote: )?((Enumerating|Counting|Compressing|Writing|Receiving|Resolving|Unpacking|Checking|Delta compression|Total)\b.*|.*: +[0-9]+% \([0-9]+/[0-9]+\).*)?$`)

// withoutProgress returns said, the messages of git, without lines of progress and empty lines. From each line, it
// drops the text before the last CR, because a terminal overwrites this text.
func withoutProgress(said string) string {
	var kept []string
	for line := range strings.Lines(said) {
		line = strings.TrimRight(line, "\r\n ")
		line = line[strings.LastIndexByte(line, '\r')+1:]
		if !progressLine.MatchString(line) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// progressFilter is a writer that passes on git's progress and drops all other lines, such as the list of
// moved refs.
type progressFilter struct {
	to   io.Writer
	line []byte // an incomplete line
}

// Write passes each complete line of progress in p on to f.to, and drops all other lines. A line ends with LF or CR.
// If p ends within a line, the next Write continues the line. Write returns the error of f.to, if any.
func (f *progressFilter) Write(p []byte) (int, error) {
	for _, c := range p {
		f.line = append(f.line, c)
		if c != '\r' && c != '\n' {
			continue
		}
		line := f.line
		f.line = f.line[:0]
		if progressLine.Match(bytes.TrimRight(line, "\r\n ")) {
			if _, err := f.to.Write(line); err != nil {
				return 0, err
			}
		}
	}
	return len(p), nil
}
