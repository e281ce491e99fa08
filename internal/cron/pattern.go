package cron

import (
	"strings"
	"time"

	"github.com/adhocore/gronx"

	"github.com/git-smithers/git-smithers/timeline/fault"
)

// horizon is how many years ahead a time is searched: a 29th of February may be eight years away.
const horizon = 12

const minutesOfDay = 24 * 60

// Pattern is a parsed cron pattern. It is immutable.
type Pattern struct {
	text     string
	segments []string // second, minute, hour, day, month, weekday and, maybe, year
	second   bool     // the text has a second
	seconds  [60]bool
	minutes  [60]bool
	hours    [24]bool
	anyHour  bool // all hours are meant, so that both passes of a repeated hour count
}

// ParsePattern parses a cron pattern: five fields (minute, hour, day of the month, month, day of the week), six with the second in front,
// or an alias such as @daily. gronx defines the fields: lists, ranges, steps, names, L, W and #. The days follow Vixie cron: a day must fit
// both the day of the month and the day of the week if one of the two begins with *; otherwise either is enough. Code: invalid_schedule if
// the text is no pattern; the error names the field at fault.
func ParsePattern(text string) (*Pattern, error) {
	segments, err := gronx.Segments(text)
	if err != nil {
		return nil, fault.New(fault.InvalidSchedule, "%q is not a cron pattern: it has %d fields", text, len(strings.Fields(text))).Hint(patternHint)
	}
	if err := checkFields(text, segments); err != nil {
		return nil, err
	}
	p := &Pattern{text: text, segments: segments, anyHour: true, second: len(strings.Fields(text)) >= 6 && len(segments) == len(strings.Fields(text))}
	check := &gronx.SegmentChecker{}
	at := time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)
	due := func(at time.Time, field int) bool {
		check.SetRef(at)
		due, err := check.CheckDue(segments[field], field)
		return due && err == nil // checkFields has seen the errors
	}
	for i := range p.minutes {
		p.minutes[i] = due(at.Add(time.Duration(i)*time.Minute), minuteField)
		p.seconds[i] = due(at.Add(time.Duration(i)*time.Second), secondField)
	}
	for i := range p.hours {
		p.hours[i] = due(at.Add(time.Duration(i)*time.Hour), hourField)
		p.anyHour = p.anyHour && p.hours[i]
	}
	return p, nil
}

// String returns the text of the pattern.
func (p *Pattern) String() string { return p.text }

// Next returns the first instant after after at which the pattern fires in a time zone; the zero time if it fires at none in the next
// twelve years.
//
// Where clocks are put forward, a time that is skipped fires as much later as clocks are put forward: 02:30 becomes 03:30. Where clocks are put
// back, a time that comes twice fires at the first, but a pattern for all hours fires in each hour that passes.
func (p *Pattern) Next(after time.Time, zone *time.Location) time.Time {
	local := after.In(zone)
	year, month, day := local.Date()
	for i := range horizon * 366 {
		date := time.Date(year, month, day+i, 12, 0, 0, 0, time.UTC)
		if !p.isDay(date) {
			continue
		}
		if at := p.firstOf(date, after, zone); !at.IsZero() {
			return at
		}
	}
	return time.Time{}
}

// isDay reports whether the pattern may fire on a day.
func (p *Pattern) isDay(date time.Time) bool {
	days := append([]string{"*", "*", "*"}, p.segments[3:]...)
	checker := &gronx.Gronx{C: &gronx.SegmentChecker{}}
	checker.C.SetRef(date)
	due, err := checker.SegmentsDue(days)
	return err == nil && due
}

// firstOf returns the first instant of a local day that is after after and at which the pattern fires; the zero time if there is none.
func (p *Pattern) firstOf(date, after time.Time, zone *time.Location) time.Time {
	var first time.Time
	take := func(at time.Time) {
		if at.After(after) && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	wanted := p.localTimes()
	var seen [minutesOfDay]bool // those of the local day that have come
	// No zone is further from UTC than 15 hours, and no day is longer than 25.
	start := time.Date(date.Year(), date.Month(), date.Day(), 0, 0, 0, 0, time.UTC).Add(-15 * time.Hour)
	_, before := start.In(zone).Zone() // the offset just before the day
	entered := false
	for at := start; at.Before(start.Add(56 * time.Hour)); at = at.Add(time.Minute) {
		local := at.In(zone)
		if _, month, day := local.Date(); day != date.Day() || month != date.Month() {
			if entered {
				break
			}
			_, before = local.Zone()
			continue
		}
		entered = true
		minute := local.Hour()*60 + local.Minute()
		if wanted[minute] && (p.anyHour || !seen[minute]) {
			for s, due := range p.seconds {
				if due {
					take(at.Add(time.Duration(s) * time.Second))
				}
			}
		}
		seen[minute] = true
	}
	for minute, meant := range wanted {
		if !meant || seen[minute] || p.anyHour {
			continue
		}
		// The clock never shows this time on this day: what it would be without the change is the moment.
		at := time.Date(date.Year(), date.Month(), date.Day(), 0, minute, 0, 0, time.UTC).Add(-time.Duration(before) * time.Second)
		for s, due := range p.seconds {
			if due {
				take(at.Add(time.Duration(s) * time.Second))
			}
		}
	}
	return first
}

// localTimes returns the minutes of a day at which the pattern fires.
func (p *Pattern) localTimes() (wanted [minutesOfDay]bool) {
	for h, due := range p.hours {
		for m, too := range p.minutes {
			wanted[h*60+m] = due && too
		}
	}
	return wanted
}

// Zone returns the time zone with an IANA name; "" and "Local" mean the zone of this machine. Code: invalid_schedule if there is no such zone.
func Zone(name string) (*time.Location, error) {
	if name == "" || strings.EqualFold(name, "local") {
		return time.Local, nil //nolint:gosmopolitan // it is what the user asks for
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fault.New(fault.InvalidSchedule, "there is no time zone %q here", name).Hint("for example Europe/Berlin, UTC, or Local for the zone of this machine")
	}
	return zone, nil
}
