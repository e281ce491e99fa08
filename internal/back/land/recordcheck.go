package land

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
)

// keeperPrefix begins the names of the bookmarks by which jj imports commits.
const keeperPrefix = "smithers-land-"

// check returns an error if a text of the record is not what a landing writes. Programs get the texts as arguments.
func (r record) check() error {
	if len(r.Landed) == 0 {
		return errors.New("landed: empty")
	}
	switch r.Mode {
	case Apply, Commit, Branch:
	default:
		return fmt.Errorf("mode: unknown mode %q", r.Mode)
	}
	if (r.Mode == Branch) != (r.Branch != "") {
		return errors.New("branch: must be set in the mode branch, and missing in other modes")
	}
	ids := slices.Concat([]string{r.Head}, r.Commits, r.Parents)
	for _, id := range []string{r.Tree, r.Commit, r.Base} {
		if id != "" {
			ids = append(ids, id)
		}
	}
	for _, id := range ids {
		if _, err := objstore.ParseID(id); err != nil {
			return err
		}
	}
	if strings.Trim(r.Change, "klmnopqrstuvwxyz") != "" {
		return fmt.Errorf("changeId: %q is not the id of a change", r.Change)
	}
	if !isBranch(r.Branch) {
		return fmt.Errorf("branch: %q is not the name of a branch", r.Branch)
	}
	if name, ok := strings.CutPrefix(r.Keeper, keeperPrefix); r.Keeper != "" && (!ok || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "") {
		return fmt.Errorf("bookmark: %q is not a bookmark of a landing", r.Keeper)
	}
	return nil
}

// isBranch reports whether name is "" or can be the name of a branch. git itself has made the branch, so the rules are those
// by which the name could be an option or mean another ref.
func isBranch(name string) bool {
	return !strings.HasPrefix(name, "-") && !strings.HasPrefix(name, "/") && !strings.Contains(name, "..") && !strings.Contains(name, "@{") &&
		!strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`~^:?*[\`, r) })
}
