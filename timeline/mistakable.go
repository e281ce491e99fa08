package timeline

import (
	"slices"
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
// scripts that can be written without them. Each blank becomes a space. If all other characters are ASCII, letters of Cyrillic and Greek become the
// Latin ones that look the same.
func Visible(id string) string {
	base := rune(0) // the character to which a mark belongs
	return latin(strings.TrimSpace(strings.Map(func(c rune) rune {
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
	}, id)))
}

// lookAlikes has letters of Cyrillic and Greek, and as many Latin letters that look the same in common fonts.
var lookAlikes = [2][]rune{
	[]rune("\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0455\u0456\u0458\u0501\u051b\u051d\u04bb\u04cf\u03bf\u03b1\u03bd\u03c1\u03b9\u03ba\u03f2\u03f3" +
		"\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0405\u0406\u0408\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7"),
	[]rune("aeopcyxsijdqwhloavpikcj" + "ABEKMHOPCTYXSIJABEZHIKMNOPTYX"),
}

// latin returns an id with Latin letters in place of the letters in lookAlikes. If the result still has characters outside of ASCII, latin returns the id
// itself, because a word of another script does not look like a Latin word.
func latin(id string) string {
	plain := strings.Map(func(c rune) rune {
		if i := slices.Index(lookAlikes[0], c); i >= 0 {
			return lookAlikes[1][i]
		}
		return c
	}, id)
	if strings.ContainsFunc(plain, func(c rune) bool { return c > unicode.MaxASCII }) {
		return id
	}
	return plain
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
