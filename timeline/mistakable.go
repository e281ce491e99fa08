package timeline

import (
	"strings"
	"unicode"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Mistakable reports whether a command can read a run's id as something else, or a person: see [Visible]. A fetched run with such an id gets
// another one. Runs of other programs keep the ids that these programs gave them; [Store.Load] prefers the frame.
func Mistakable(id string) bool { return misread(id) || Visible(id) != id }

// misread reports whether a command can read a run's id as the address of a frame of another run, as the newest session, or as an option. New
// runs get no such id.
func misread(id string) bool {
	if id == "" || strings.ContainsRune("-@", rune(id[0])) {
		return true
	}
	readings, err := splitAddress(id)
	number, isFrame := strings.CutPrefix(id, ":") // a frame of the newest session
	_, ok := parseFrame(number)
	return err == nil && len(readings) > 0 || isFrame && ok
}

// Visible returns a run's id without what people do not see: blanks at the ends, characters without a picture, and marks above or below letters of
// scripts that can be written without them. Each blank becomes a space.
func Visible(id string) string {
	base := rune(0) // the character to which a mark belongs
	return strings.TrimSpace(strings.Map(func(c rune) rune {
		isMark := unicode.In(c, unicode.Mn, unicode.Me)
		switch {
		case unicode.IsSpace(c) && !unicode.IsControl(c), c == '\u2800': // a Braille pattern without dots
			base = ' '
			return base
		case unicode.In(c, unicode.Cc, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector),
			isMark && (!unicode.IsLetter(base) || unicode.In(base, unicode.Latin, unicode.Greek, unicode.Cyrillic)):
			return -1
		case !isMark:
			base = c
		}
		return c
	}, id))
}

// Unmistakable returns an id for a run whose own id is mistakable: the own id as people see it, with dots in place of what makes it an address, and the first
// eight digits of the run's tip.
func Unmistakable(id string, tip objstore.ID) string {
	const digits = 8
	plain := strings.Trim(strings.NewReplacer(":", ".", "@", ".").Replace(Visible(id)), "-. ")
	suffix := tip.String()[:digits]
	if plain == "" || len(plain)+1+digits > snapshot.MaxRunID {
		return suffix
	}
	return plain + "-" + suffix
}
