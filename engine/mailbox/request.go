package mailbox

import (
	"time"

	"github.com/git-smithers/git-smithers/snapshot"
)

// Request returns the human request that Answer would answer at the tip that rec has read. Request returns the codes
// request_not_found, usage and not_pending in the same cases as Answer. With not_pending, Request also returns the
// request.
func Request(rec Recorder, p Place, at time.Time) (snapshot.HumanRequest, error) {
	h, err := find(rec.State().AllHumanRequests(), seenHuman, p, rec.Row().ID, "an answer")
	if err != nil {
		return h, err
	}
	return h, checkPending(h, at)
}
