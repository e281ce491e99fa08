package agent

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

const (
	// longestLine is the size of the longest line of a transcript that is stored, in bytes. A longer line is left out.
	longestLine = 8 << 20
	// deepestLine is how deep lists and objects of a line may be nested. A deeper line is left out: no row can have it.
	deepestLine = snapshot.DefaultDepth - 1
	// mostRead is the number of bytes of transcripts after which a hook reads no further line. The next hook continues
	// there, so that a hook takes a bounded time.
	mostRead = 3 << 20
	// mostLines is the number of lines after which a hook reads no further line.
	mostLines = 100_000
	// longestSkipped is the number of bytes of a line after which a hook reads no further: the file is no transcript.
	longestSkipped = 256 << 20
)

// readLines returns the complete lines of the file at path from offset on, and the offset after the last of them. A
// last line without a line feed is still being written, and left for the next hook. If the file does not exist,
// readLines returns no lines. keep says what of the lines is returned. After mostBytes, or most lines, it reads no further. The error is errRewritten if the file is
// shorter than offset, or no line begins at offset, and an unreadableError if the file cannot be read.
func readLines(path string, offset int64, speaks *dialect.Dialect, keep timeline.Transcript, mostBytes int64, most int) ([]dialect.Line, int64, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() { // to open a pipe waits for somebody who writes to it
		return nil, offset, &unreadableError{fmt.Errorf("%s is not a file", path)}
	}
	var file *os.File
	if err == nil {
		file, err = os.Open(path) //nolint:gosec // the agent names its own file, and this process runs as its user
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, offset, nil
	}
	if err != nil {
		return nil, offset, &unreadableError{err}
	}
	defer file.Close() //nolint:errcheck // it was only read
	if err := seekLine(file, offset); err != nil {
		return nil, offset, err
	}
	var lines []dialect.Line
	in := bufio.NewReaderSize(file, 1<<16)
	for first := offset; offset-first < mostBytes && len(lines) < most; {
		text, size, err := readLine(in)
		if err != nil { // the end, or a line that is being written
			return lines, offset, nil
		}
		at := offset
		offset += size
		if size > longestLine || jsontext.DeeperThan(text, deepestLine) {
			continue
		}
		if speaks.Name != dialect.Generic && !dialect.IsObject(text) {
			continue // the path can be that of any file of the user
		}
		facts := speaks.Read(text)
		text, wanted := slimmed(speaks, facts, text, keep)
		if !wanted {
			continue
		}
		lines = append(lines, dialect.Line{Facts: facts, Offset: at, Text: text})
	}
	return lines, offset, nil
}

// slimmed returns a line without what is not stored of a conversation, and whether the line is stored at all.
func slimmed(speaks *dialect.Dialect, facts dialect.Facts, text []byte, keep timeline.Transcript) (slim []byte, wanted bool) {
	if keep == timeline.TranscriptFull {
		return text, true
	}
	if facts.Slim != nil {
		text = facts.Slim
	}
	if keep == timeline.TranscriptSlim {
		without := dialect.WithoutImages
		if speaks.WithoutImages != nil {
			without = speaks.WithoutImages
		}
		if slim := without(text); slim != nil {
			text = slim
		}
	}
	return text, !facts.Vendor || facts.Slim != nil
}

// seekLine moves to the line that begins at offset.
func seekLine(file *os.File, offset int64) error {
	if offset == 0 {
		return nil
	}
	var before [1]byte
	if _, err := file.ReadAt(before[:], offset-1); err != nil || before[0] != '\n' {
		return errRewritten // the file ends before offset, or has other lines
	}
	_, err := file.Seek(offset, io.SeekStart)
	return err
}

// readLine reads one line. It returns the line without its line feed, and its size with it. text has at most
// longestLine bytes: of a longer line, it has only the beginning. readLine returns an error at the end of the file, also if
// the last line has no line feed, and after longestSkipped bytes.
func readLine(in *bufio.Reader) (text []byte, size int64, err error) {
	for {
		part, err := in.ReadSlice('\n')
		size += int64(len(part))
		if size <= longestLine {
			text = append(text, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) || size > longestSkipped {
			return bytes.TrimSuffix(text, []byte("\n")), size, err
		}
	}
}

// errRewritten means that an agent has written its file anew.
var errRewritten = errors.New("the agent has written its transcript anew")

// unreadableError means that the file of a transcript cannot be read now.
type unreadableError struct{ cause error }

// Error returns the cause.
func (e *unreadableError) Error() string { return "the conversation was not read: " + e.cause.Error() }

// Unwrap returns the cause.
func (e *unreadableError) Unwrap() error { return e.cause }

// transcriptRows returns the rows of a transcript for lines. A row begins at each line with a call or a result, so that
// a call names its line by the offset of a row. It also begins at each offset of begins, which is sorted.
func transcriptRows(transcript string, lines []dialect.Line, begins []int64) []page.Row {
	var rows []page.Row
	var of [][]byte
	var offset int64
	flush := func() {
		if len(of) > 0 {
			rows = append(rows, snapshot.EncodeTranscript(transcript, offset, of))
		}
		of = nil
	}
	for _, l := range lines {
		for ; len(begins) > 0 && begins[0] <= l.Offset; begins = begins[1:] {
			flush()
		}
		if len(l.Begun)+len(l.Ended) > 0 {
			flush()
		}
		if len(of) == 0 {
			offset = l.Offset
		}
		of = append(of, l.Text)
	}
	flush()
	return rows
}
