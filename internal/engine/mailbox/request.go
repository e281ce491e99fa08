package mailbox

import (
	"time"

	"github.com/git-smithers/git-smithers/snapshot"
)

// Request returns the human request that Answer would answer at the tip that rec has read. The error's code is:
//   - request_not_found, if p has no request;
//   - usage, if p names no node and several nodes wait;
//   - not_pending, if the request is closed or has expired at the time at. Request then also returns the request.
func Request(rec Recorder, p Place, at time.Time) (snapshot.HumanRequest, error) {
	h, err := find(rec.State().AllHumanRequests(), seenHuman, p, rec.Row().ID, "an answer")
	if err != nil {
		return h, err
	}
	return h, checkPending(h, at)
}
