package refs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
)

// PackedLine is a line of packed-refs that is none: git reads no ref at all beside it.
type PackedLine struct {
	Number int    // counted from 1
	Text   string // without its end
	Name   Name   // of the ref that it was the line of, of whomever; "" where it does not say
	Cut    bool   // the file ends in it, so that the name may go on
}

// SoundPacked returns the lines of packed-refs that are what they should be, and the
// others. The head says that they are sorted, which a damaged line does not change for
// the rest.
func SoundPacked(data []byte) (sound []byte, broken []PackedLine) {
	number, kept, met := 0, false, false // whether the line before was kept, and whether it was a ref's
	for line := range bytes.Lines(data) {
		number++
		text, ended := strings.CutSuffix(string(line), "\n")
		switch {
		case ended && number == 1 && strings.HasPrefix(text, packedHeader):
			sound = append(sound, line...)
			kept, met = false, false
			continue
		case ended && met && strings.HasPrefix(text, "^") && isID(text[1:]):
			if kept { // else it goes with the ref that it belongs to
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

func isID(text string) bool {
	id, err := objstore.ParseID(text)
	return err == nil && !id.IsZero()
}

// checkPacked reads all of packed-refs, also the lines that no ref of ours is in: one of
// them that is none is the end of every git command.
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
	return broken, &BrokenError{Path: path, Reason: fmt.Sprintf("not a line of packed-refs: %.80q", broken[0].Text)}
}
