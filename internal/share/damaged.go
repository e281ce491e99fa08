package share

import (
	"errors"

	"github.com/git-smithers/git-smithers/internal/lazyregexp"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// isDamage reports whether err means that an object of this repository is missing or damaged.
func isDamage(err error) bool {
	return errors.Is(err, objstore.ErrNotFound) || errors.Is(err, objstore.ErrCorrupt)
}

// isUnreadable reports whether err means that a run is intact but cannot be read: another version wrote the
// run, or the run exceeds a limit.
func isUnreadable(err error) bool {
	return errors.Is(err, objstore.ErrTreeSize) || errors.Is(err, snapshot.ErrNewerFormat) || errors.Is(err, snapshot.ErrOlderFormat) ||
		errors.Is(err, snapshot.ErrLimit) || errors.Is(err, snapshot.ErrInvalid)
}

// objectName matches an object id in the reason of a damaged run.
var objectName = lazyregexp.New(`\b(?:[0-9a-f]{40}|[0-9a-f]{64})\b`)

// damage returns the error about run, which was not pushed because one of its objects is missing or damaged in this
// repository. run.Reason describes the fault. The error's code is missing_object if the object that run.Reason names is
// missing, and otherwise corrupt_object. If run is nil, damage returns nil.
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
	return fault.New(code, "run %q was not pushed, because an object of the run is missing or damaged: %s", run.RunID, run.Reason).
		Hint("`git smithers doctor --repair` rescues the readable objects, and fetches missing objects from a remote that has the run").
		Detail("runs", p.result().Runs)
}
