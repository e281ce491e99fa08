package refs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
)

// PackedLine is an invalid line of packed-refs. git reads no ref at all as long as packed-refs has such a
// line.
type PackedLine struct {
	Number int    // counted from 1
	Text   string // the line without its line feed
	Name   Name   // the ref of the line; "" if the line has no ref name
	Cut    bool   // the file ends in this line without a line feed, so Name may be incomplete
}

// SoundPacked splits data, the content of packed-refs, into its valid and its invalid lines. sound has the valid
// lines in their old order, so a sorted file stays sorted. A line "^<id>" belongs to the ref in the line before it:
// SoundPacked drops the line if the ref's line is invalid. An element of broken has the ref's name if the invalid
// line has one.
func SoundPacked(data []byte) (sound []byte, broken []PackedLine) {
	// kept means that the previous line is in sound. met means that a line "^<id>" may follow the previous line.
	number, kept, met := 0, false, false
	for line := range bytes.Lines(data) {
		number++
		text, ended := strings.CutSuffix(string(line), "\n")
		switch {
		case ended && number == 1 && strings.HasPrefix(text, packedHeader):
			sound = append(sound, line...)
			kept, met = false, false
			continue
		case ended && met && strings.HasPrefix(text, "^") && isID(text[1:]):
			if kept { // otherwise the line is dropped with its ref
				sound = append(sound, line...)
			}
			met = false
			continue
		}
		id, name, found := strings.Cut(text, " ")
		if kept, met = ended && found && isID(id) && strings.HasPrefix(name, "refs/"), true; kept {
			sound = append(sound, line...)
			continue
		}
		flaw := PackedLine{Number: number, Text: text, Cut: !ended}
		if at := strings.Index(text, "refs/"); at >= 0 {
			flaw.Name = Name(text[at:])
		}
		broken = append(broken, flaw)
	}
	return sound, broken
}

// isID reports whether text is an object id other than the zero id.
func isID(text string) bool {
	id, err := objstore.ParseID(text)
	return err == nil && !id.IsZero()
}

// checkPacked returns the invalid lines of packed-refs. If the file has invalid lines, the error is a *BrokenError for
// the first of these lines. If all lines are valid, or the file is missing, checkPacked returns nil. It also checks the
// refs of other programs, because any invalid line stops git.
func (r reader) checkPacked() ([]PackedLine, error) {
	path := filepath.Join(r.dir, "packed-refs")
	data, err := os.ReadFile(path)
	if isNoFile(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	_, broken := SoundPacked(data)
	if len(broken) == 0 {
		return nil, nil
	}
	return broken, &BrokenError{Path: path, Reason: fmt.Sprintf("packed-refs has an invalid line: %.80q", broken[0].Text)}
}
