package cron

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/adhocore/gronx"

	"github.com/git-smithers/git-smithers/timeline/fault"
)

// The fields of a pattern, in gronx' order.
const (
	secondField = iota
	minuteField
	hourField
	dayField
	monthField
	weekdayField
	yearField
)

// fields describes the fields of a pattern.
var fields = [...]struct {
	name        string
	first, last int
}{
	{"second", 0, 59},
	{"minute", 0, 59},
	{"hour", 0, 23},
	{"day of the month", 1, 31},
	{"month", 1, 12},
	{"day of the week", 0, 7},
	{"year", 0, 9999},
}

// patternHint is the hint of an error about a pattern.
const patternHint = `write minute, hour, day, month and weekday, for example "30 2 * * *" for half past two every night`

// checkFields returns invalid_schedule with the name of the first field that is wrong. text is the whole pattern.
func checkFields(text string, segments []string) error {
	for i, segment := range segments {
		alone := []string{"*", "*", "*", "*", "*", "*"}
		if i == yearField {
			alone = append(alone, "*")
		}
		alone[i] = segment
		if gronx.IsValid(strings.Join(alone, " ")) {
			continue
		}
		field := fields[i]
		return fault.New(fault.InvalidSchedule, "%q is not a cron pattern: the %s cannot be %q; it is %d to %d", text, field.name, segment, field.first, field.last).
			Hint(patternHint).Detail("field", field.name)
	}
	return nil
}

// Differences describes, for people, where dialects of cron read the pattern differently, or where it is easily misread. It returns nil for
// a pattern that every cron reads alike.
func (p *Pattern) Differences() []string {
	day, weekday := p.segments[dayField], p.segments[weekdayField]
	var all []string
	if restricts(day) && restricts(weekday) {
		if strings.HasPrefix(day, "*") || strings.HasPrefix(weekday, "*") {
			all = append(all, fmt.Sprintf("a day must fit both the day of the month %s and the day of the week %s, as in Vixie cron; other dialects fire on a day that fits either", day, weekday))
		} else {
			all = append(all, fmt.Sprintf("a day that fits either the day of the month %s or the day of the week %s is enough, as in Vixie cron; other dialects want both", day, weekday))
		}
	}
	for i, segment := range p.segments {
		for item := range strings.SplitSeq(segment, ",") {
			if text := stepDifference(i, item); text != "" {
				all = append(all, text)
			}
		}
	}
	if strings.ContainsAny(day+weekday, "LW#?") {
		all = append(all, "L, W, # and ? are extensions that Vixie cron does not have")
	}
	if p.second {
		all = append(all, "the first of six fields is the second; some dialects take the sixth for the year")
	}
	return all
}

// restricts reports whether a field for days leaves out any day.
func restricts(segment string) bool { return segment != "*" && segment != "?" }

// stepDifference describes what may be misread in one item of a field, or returns "".
func stepDifference(field int, item string) string {
	base, after, found := strings.Cut(item, "/")
	step, err := strconv.Atoi(after)
	f := fields[field]
	switch {
	case !found || err != nil || field == yearField:
		return ""
	case step > f.last-f.first:
		first := base
		if base == "*" {
			first = strconv.Itoa(f.first)
		}
		return fmt.Sprintf("the step of the %s %s is longer than the field: it fires at %s %s alone", f.name, item, f.name, first)
	case base != "*" && !strings.Contains(base, "-"):
		return fmt.Sprintf("the %s %s begins at %s and goes on in steps of %d; Vixie cron refuses it, or fires at %s alone", f.name, item, base, step, base)
	}
	return ""
}
