// Package cron keeps the schedules of a clone: when which workflow is to run. It starts nothing itself.
//
// The schedules are in the tree of a commit without parents, which the ref refs/smithers/_cron names: a file of JSON each. The ref moves by
// compare-and-swap, so of several supervisors one alone takes a time. No push carries it. A schedule fires only in the clone in which somebody
// has enabled it: that clone has sealed it with its key.
package cron

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/consent"
	"github.com/git-smithers/git-smithers/internal/treeref"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// What happens with times that came while nobody could fire the schedule.
const (
	MissedOnce = "once" // one run for all of them
	MissedSkip = "skip" // none
)

// What happens when the run of the time before has not ended.
const (
	OverlapSkip  = "skip"  // the time is left out
	OverlapQueue = "queue" // the new run begins when the other has ended
	OverlapAllow = "allow" // both run
)

// missedAfter is how late a time may be taken and is not missed.
const missedAfter = time.Minute

// maxFile is the largest file of a schedule in bytes, and maxSchedules the largest number of schedules.
const (
	maxFile      = 1 << 20
	maxSchedules = 10_000
)

// Schedule says when which workflow is to run.
type Schedule struct {
	ID       string          `json:"id"`
	Pattern  string          `json:"pattern"`
	Zone     string          `json:"zone,omitempty"` // an IANA name; "" is the zone of the machine
	Workflow string          `json:"workflow"`       // its file, as a run stores it
	Input    json.RawMessage `json:"input,omitempty"`
	Missed   string          `json:"missed,omitempty"`  // "" of a schedule that came from Smithers
	Overlap  string          `json:"overlap,omitempty"` // "" of a schedule that came from Smithers
	Enabled  bool            `json:"enabled"`

	CreatedAtMs int64  `json:"createdAtMs"`
	NextAtMs    *int64 `json:"nextAtMs,omitempty"`  // when it fires next; nil if it does not
	LastAtMs    *int64 `json:"lastAtMs,omitempty"`  // when it fired last
	LastRun     string `json:"lastRun,omitempty"`   // the run that it started last
	Error       string `json:"error,omitempty"`     // why the last time came to nothing; "" if it did not
	ErrorAtMs   *int64 `json:"errorAtMs,omitempty"` // when

	// Row is the row of Smithers' table _smithers_cron from which the schedule came; nil if it is of ours.
	Row  treeref.Row `json:"row,omitempty"`
	Seal string      `json:"seal,omitempty"` // of what runs and when, by the clone in which it was enabled

	sealed bool // by this clone
}

// isID reports whether a text can be the id of a schedule of ours.
func isID(text string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
	return text != "" && len(text) <= 100 && text[0] != '.' && text[0] != '-' &&
		!strings.ContainsFunc(text, func(r rune) bool { return !strings.ContainsRune(letters+".-", r) })
}

// Fires reports whether the schedule fires in this clone.
func (s *Schedule) Fires() bool { return s.Enabled && s.sealed }

// Foreign reports whether the schedule is enabled, but not by this clone.
func (s *Schedule) Foreign() bool { return s.Enabled && !s.sealed }

// FromSmithers reports whether the schedule came from Smithers.
func (s *Schedule) FromSmithers() bool { return s.Row != nil }

// content returns the text that the seal covers: all that says what runs and when.
func (s *Schedule) content() []byte {
	text, _ := json.Marshal([]any{"git-smithers schedule 1", s.ID, s.Pattern, s.Zone, s.Workflow, s.Input, s.Missed, s.Overlap}) //nolint:errchkjson // texts encode always
	return text
}

// check returns invalid_schedule if the schedule cannot fire: its pattern, its zone or one of its words is wrong, or no time comes after now.
func (s *Schedule) check(now time.Time) error {
	if !isID(s.ID) {
		return fault.New(fault.InvalidSchedule, "%q cannot be the name of a schedule", s.ID).Hint("use at most 100 letters, digits and _ . -, and do not begin with . or -")
	}
	for _, word := range []struct {
		what, is string
		of       []string
	}{
		{"--missed", s.Missed, []string{MissedOnce, MissedSkip}},
		{"--overlap", s.Overlap, []string{OverlapSkip, OverlapQueue, OverlapAllow}},
	} {
		known := false
		for _, w := range word.of {
			known = known || w == word.is
		}
		if !known {
			return fault.New(fault.InvalidSchedule, "%s cannot be %q", word.what, word.is).Hint("use one of %v", word.of)
		}
	}
	_, err := s.next(now)
	return err
}

// Location returns the zone in which the pattern is read. Code: invalid_schedule if this machine does not know it.
func (s *Schedule) Location() (*time.Location, error) { return Zone(s.Zone) }

// Upcoming returns the next times at which the schedule fires in this clone, at most n, in milliseconds since 1970: the time that it
// keeps, then those of its pattern. It returns nil if it does not fire here.
func (s *Schedule) Upcoming(n int) []int64 {
	pattern, zone, err := s.parsed()
	if err != nil || !s.Fires() || s.NextAtMs == nil {
		return nil
	}
	all := []int64{*s.NextAtMs}
	for len(all) < n {
		at := pattern.Next(time.UnixMilli(all[len(all)-1]), zone)
		if at.IsZero() {
			break
		}
		all = append(all, at.UnixMilli())
	}
	return all
}

// Between returns the times of the pattern from one moment to another, and the first after them, or the zero time if there is none. Codes:
// invalid_schedule; limit_exceeded if there are more than most.
func (s *Schedule) Between(from, to time.Time, most int) (times []time.Time, err error) {
	pattern, zone, err := s.parsed()
	if err != nil {
		return nil, err
	}
	for at := pattern.Next(from.Add(-time.Nanosecond), zone); ; at = pattern.Next(at, zone) {
		if times = append(times, at.In(zone)); at.IsZero() || at.After(to) {
			return times, nil
		}
		if len(times) > most {
			return nil, fault.New(fault.LimitExceeded, "schedule %s has more than %d times there", s.ID, most).Hint("choose a shorter time with --from and --to")
		}
	}
}

// Differences returns Pattern.Differences of the schedule's pattern, or nil if the pattern is invalid.
func (s *Schedule) Differences() []string {
	pattern, err := ParsePattern(s.Pattern)
	if err != nil {
		return nil
	}
	return pattern.Differences()
}

// parsed returns the pattern and the zone. Code: invalid_schedule.
func (s *Schedule) parsed() (*Pattern, *time.Location, error) {
	pattern, err := ParsePattern(s.Pattern)
	if err != nil {
		return nil, nil, err
	}
	zone, err := s.Location()
	return pattern, zone, err
}

// next returns when the schedule fires after a moment. Code: invalid_schedule if it never does.
func (s *Schedule) next(after time.Time) (int64, error) {
	pattern, zone, err := s.parsed()
	if err != nil {
		return 0, err
	}
	at := pattern.Next(after, zone)
	if at.IsZero() {
		return 0, fault.New(fault.InvalidSchedule, "the pattern %q never fires", s.Pattern).Hint("no day of the next %d years is one of its days", horizon)
	}
	return at.UnixMilli(), nil
}

// enable sets when the schedule fires next, and seals it.
func (s *Schedule) enable(key []byte, now time.Time) error {
	if err := s.check(now); err != nil {
		return err
	}
	next, err := s.next(now)
	if err != nil {
		return err
	}
	s.Enabled, s.sealed, s.NextAtMs, s.Seal = true, true, &next, consent.Seal(key, s.content())
	s.Error, s.ErrorAtMs = "", nil
	return nil
}

// disable stops the schedule.
func (s *Schedule) disable() { s.Enabled, s.sealed, s.NextAtMs, s.Seal = false, false, nil, "" }

// encode returns the file of the schedule.
func (s *Schedule) encode() ([]byte, error) {
	text, err := json.Marshal(s)
	if err == nil && len(text) > maxFile {
		err = fault.New(fault.LimitExceeded, "schedule %s is larger than %d bytes", s.ID, maxFile)
	}
	return text, err
}

// decode returns the schedule in a file. key is that of this clone, or nil.
func decode(text, key []byte) (*Schedule, error) {
	s := new(Schedule)
	if err := unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("no schedule: %w", err)
	}
	if s.ID == "" {
		return nil, errors.New("no schedule: it has no id")
	}
	s.sealed = consent.Fits(key, s.content(), s.Seal)
	return s, nil
}
