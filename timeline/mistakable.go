package timeline

import (
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Mistakable reports whether a command can read a run's id as something else: as the address of a frame of another run, as the newest session,
// or as an option. New runs get no such id, and a fetched run with such an id gets another one. Runs of other programs keep the ids that
// these programs gave them; [Store.Load] prefers the frame.
func Mistakable(id string) bool {
	if id == "" || strings.ContainsRune("-@", rune(id[0])) {
		return true
	}
	readings, err := splitAddress(id)
	number, isFrame := strings.CutPrefix(id, ":") // a frame of the newest session
	_, ok := parseFrame(number)
	return err == nil && len(readings) > 0 || isFrame && ok
}

// Unmistakable returns an id for a run whose own id is mistakable: the own id with dots in place of what makes it an address, and the first
// eight digits of the run's tip.
func Unmistakable(id string, tip objstore.ID) string {
	const digits = 8
	plain := strings.Trim(strings.NewReplacer(":", ".", "@", ".").Replace(id), "-.")
	suffix := tip.String()[:digits]
	if plain == "" || len(plain)+1+digits > snapshot.MaxRunID {
		return suffix
	}
	return plain + "-" + suffix
}
