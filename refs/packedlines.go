package refs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
)

// PackedLine is an invalid line of packed-refs. Because of it, git reads no ref at all.
type PackedLine struct {
	Number int    // counted from 1
	Text   string // without its line feed
	Name   Name   // the ref of the line; "" if unknown
	Cut    bool   // the file ends in this line, so the name may be incomplete
}

// SoundPacked splits packed-refs into valid and invalid lines. The valid lines stay sorted, as the
// header says.
func SoundPacked(data []byte) (sound []byte, broken []PackedLine) {
	number, kept, met := 0, false, false // whether the previous line was kept, and whether it was a ref
	for line := range bytes.Lines(data) {
		number++
		text, ended := strings.CutSuffix(string(line), "\n")
		switch {
		case ended && number == 1 && strings.HasPrefix(text, packedHeader):
			sound = append(sound, line...)
			kept, met = false, false
			continue
		case ended && met && strings.HasPrefix(text, "^") && isID(text[1:]):
			if kept { // otherwise it goes with its ref
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

// checkPacked reads all of packed-refs, including other programs' refs: any invalid line stops every
// git command.
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
