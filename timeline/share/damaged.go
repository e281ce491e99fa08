package share

import (
	"errors"
	"regexp"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// isDamage reports whether an error is about objects that are missing or damaged here.
func isDamage(err error) bool {
	return errors.Is(err, objstore.ErrNotFound) || errors.Is(err, objstore.ErrCorrupt)
}

// isUnreadable reports whether an error is about a run that is whole and beyond what is
// read here: written by a newer version, or beyond a limit.
func isUnreadable(err error) bool {
	return errors.Is(err, objstore.ErrTreeSize) || errors.Is(err, snapshot.ErrNewerFormat) ||
		errors.Is(err, snapshot.ErrLimit) || errors.Is(err, snapshot.ErrInvalid)
}

// objectName is an object's in what git says.
var objectName = regexp.MustCompile(`\b[0-9a-f]{40}\b`)

// damage is the error about a run that was not pushed since an object of it is missing or
// damaged here; nil for no run.
func (p *push) damage(run *pushing) error {
	if run == nil {
		return nil
	}
	code := fault.CorruptObject
	if id, err := objstore.ParseID(objectName.FindString(run.Reason)); err == nil {
		if _, _, err := p.parts.Objects.Get(id); errors.Is(err, objstore.ErrNotFound) {
			code = fault.MissingObject
		}
	}
	return fault.New(code, "run %q was not pushed: it is damaged here: %s", run.RunID, run.Reason).
		Hint("`git smithers doctor` saves what can be saved, and fetches the rest from a remote that has the run").
		Detail("runs", p.result().Runs)
}
