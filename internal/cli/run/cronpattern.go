package run

import (
	"context"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cron"
	"github.com/git-smithers/git-smithers/internal/plain"
)

// upcomingTimes is how many times of a schedule are shown.
const upcomingTimes = 5

// noteDifferences notes where dialects of cron read a pattern differently.
func noteDifferences(s *session.Session, differences []string) {
	for _, text := range differences {
		s.Note("%s", plain.Text(text))
	}
}

// moments formats the first of a schedule's times, and those after it, in the zone of the schedule. The zone is named with the first, and
// wherever it changes.
func moments(s *session.Session, schedule *cron.Schedule, times []int64) (next, then string) {
	zone, err := schedule.Location()
	if err != nil { // it would have no times
		zone = time.UTC
	}
	return momentsIn(s.Now().In(zone), times)
}

// momentsIn is described with moments. The zone is that of now.
func momentsIn(now time.Time, times []int64) (next, then string) {
	clock := "15:04"
	for _, ms := range times {
		if time.UnixMilli(ms).Second() != 0 {
			clock = time.TimeOnly
		}
	}
	var texts []string
	named := ""
	for _, ms := range times {
		text := display.Moment(now, ms, clock)
		if name := zoneName(time.UnixMilli(ms).In(now.Location())); name != named {
			text, named = text+" "+name, name
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		return "", ""
	}
	return texts[0], strings.Join(texts[1:], ", ")
}

// zoneName returns the abbreviation of a moment's zone, or its distance from UTC if it has none.
func zoneName(at time.Time) string {
	name, _ := at.Zone()
	if name == "" || name[0] == '+' || name[0] == '-' {
		return "UTC" + at.Format("-07:00")
	}
	return name
}

func cronCheckCommand() *arg.Command {
	return &arg.Command{
		Name:    "check",
		Summary: "show when a pattern fires, without adding a schedule",
		Usage:   []string{"<pattern> [--zone ZONE]"},
		About: `Prints the next five times of a pattern, and notes where dialects of cron read it differently.
Nothing is stored. A text that is not a pattern is refused, with the name of the wrong field.`,
		MinArgs: 1, MaxArgs: 1,
		Flags:    []urfave.Flag{zoneFlag()},
		Exits:    arg.Reads(),
		Examples: []arg.Example{{"see when a pattern fires", `git smithers cron check "0 0 */2 * 1" --zone Europe/Berlin`}},
		Run: func(_ context.Context, s *session.Session, c *urfave.Context) error {
			pattern, err := cron.ParsePattern(c.Args().First())
			if err != nil {
				return err
			}
			zone, err := cron.Zone(c.String("zone"))
			if err != nil {
				return err
			}
			return tellPattern(s, pattern, zone)
		},
	}
}

// zoneFlag is the flag for the zone of a pattern.
func zoneFlag() urfave.Flag {
	return &urfave.StringFlag{Name: "zone", Usage: "read the pattern in the time zone `ZONE`, such as Europe/Berlin (default: the machine's)"}
}

// patternDocument is the document of cron check --json.
type patternDocument struct {
	Kind        string   `json:"kind"`
	Pattern     string   `json:"pattern"`
	UpcomingMs  []int64  `json:"upcomingAtMs"`
	Differences []string `json:"differences"`
}

// tellPattern prints the next times of a pattern.
func tellPattern(s *session.Session, pattern *cron.Pattern, zone *time.Location) error {
	doc := patternDocument{"cronPattern", pattern.String(), []int64{}, pattern.Differences()}
	for at := pattern.Next(s.Now(), zone); !at.IsZero() && len(doc.UpcomingMs) < upcomingTimes; at = pattern.Next(at, zone) {
		doc.UpcomingMs = append(doc.UpcomingMs, at.UnixMilli())
	}
	if s.JSON {
		if doc.Differences == nil {
			doc.Differences = []string{}
		}
		return s.WriteJSON(doc)
	}
	if len(doc.UpcomingMs) == 0 {
		s.Note("the pattern never fires")
	}
	for _, ms := range doc.UpcomingMs {
		at := time.UnixMilli(ms).In(zone)
		if err := s.Printf("%s %s\n", at.Format("Mon 2006-01-02 15:04:05"), zoneName(at)); err != nil {
			return err
		}
	}
	noteDifferences(s, doc.Differences)
	return nil
}
