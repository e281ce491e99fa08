package captures

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// clockSkew is how much later than its entry an event may say that it happened, in milliseconds: a day.
const clockSkew = 24 * 60 * 60 * 1000

// newEvents returns the events that the run does not have yet, and an entry that has one of the others, or nil. Two events are the same if they
// have the same time, type and payload, all three given by the writer. Only the run's newest 1,000 entries are looked through, and only those
// that are not older than the events.
func (c *Capturer) newEvents(events []givenEvent) (left []givenEvent, had *snapshot.Entry, err error) {
	wanted, earliest := make(map[string]bool), int64(0)
	for _, e := range events {
		if key := e.content(); key != "" && !wanted[key] {
			if wanted[key] = true; len(wanted) == 1 || e.AtMs < earliest {
				earliest = e.AtMs
			}
		}
	}
	stored := make(map[string]bool)
	if c.head != nil && len(wanted) > 0 {
		left := captureMemory
		for entry, err := range c.head.Chain() {
			if err != nil {
				return nil, nil, timeline.Explain(err)
			}
			if left--; left < 0 || entry.AtMs+clockSkew < earliest {
				break
			}
			has, err := entry.Events()
			if err != nil {
				return nil, nil, timeline.Explain(err)
			}
			for _, e := range has {
				if key := (givenEvent{e.Type, e.AtMs, e.Payload}).content(); wanted[key] {
					stored[key] = true
					if had == nil {
						had = entry
					}
				}
			}
		}
	}
	for _, e := range events {
		key := e.content()
		if !stored[key] {
			left = append(left, e)
		}
		stored[key] = key != ""
	}
	return left, had, nil
}

// content returns what makes an event the same as another, or "" if the writer has not given all of it.
func (e givenEvent) content() string {
	var payload bytes.Buffer
	if e.AtMs == 0 || len(e.Payload) == 0 || json.Compact(&payload, e.Payload) != nil {
		return ""
	}
	return strconv.FormatInt(e.AtMs, 10) + " " + e.Type + " " + payload.String()
}

// onlyEvents reports whether a capture has nothing but events.
func (req *Capture) onlyEvents() bool {
	return req.State == nil && req.Changes == nil && req.Frame == nil && req.VCS == nil && req.Run == nil && req.Worktree == nil
}
