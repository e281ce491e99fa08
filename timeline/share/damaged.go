package share

import (
	"errors"
	"regexp"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// isDamage reports whether an error is about a missing or damaged object here.
func isDamage(err error) bool {
	return errors.Is(err, objstore.ErrNotFound) || errors.Is(err, objstore.ErrCorrupt)
}

// isUnreadable reports whether an error is about a run that is intact but unreadable here: written
// by a newer version, or beyond a limit.
func isUnreadable(err error) bool {
	return errors.Is(err, objstore.ErrTreeSize) || errors.Is(err, snapshot.ErrNewerFormat) ||
		errors.Is(err, snapshot.ErrLimit) || errors.Is(err, snapshot.ErrInvalid)
}

// objectName matches an object id in git's messages.
var objectName = regexp.MustCompile(`\b[0-9a-f]{40}\b`)

// damage returns the error that a run was not pushed because an object of it is missing or
// damaged here. run may be nil.
func (p *push) damage(run *outgoingRun) error {
	if run == nil {
		return nil
	}
	code := fault.CorruptObject
	if id, err := objstore.ParseID(objectName.FindString(run.Reason)); err == nil {
		if _, _, err := p.store.Objects().Get(id); errors.Is(err, objstore.ErrNotFound) {
			code = fault.MissingObject
		}
	}
	return fault.New(code, "run %q was not pushed: it is damaged here: %s", run.RunID, run.Reason).
		Hint("`git smithers doctor` saves what can be saved, and fetches the rest from a remote that has the run").
		Detail("runs", p.result().Runs)
}
