package run

import (
	"context"
	"encoding/json"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/cron"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func cronCommand() *arg.Command {
	return &arg.Command{
		Name:    "cron",
		Summary: "run workflows at set times",
		Usage:   []string{"add PATTERN WORKFLOW [--name NAME] … | check PATTERN | list | enable NAME | disable NAME | run-now NAME | backfill NAME … | remove NAME"},
		About: `A schedule says when which workflow is to run. supervise starts its runs, so keep one running.
Schedules belong to this clone: no push carries them, and one that came from elsewhere does
not run before you enable it here.`,
		Children: []*arg.Command{
			cronAddCommand(), cronCheckCommand(), cronListCommand(), cronEnableCommand(), cronDisableCommand(), cronRunNowCommand(), cronBackfillCommand(), cronRemoveCommand(),
		},
	}
}

func cronAddCommand() *arg.Command {
	return &arg.Command{
		Name:    "add",
		Summary: "add a schedule",
		Usage:   []string{"<pattern> <workflow> [--name NAME] [--zone ZONE] [--input JSON] [--missed once|skip] [--overlap skip|queue|allow]"},
		About: `Adds a schedule for a workflow file of the working copy. The pattern is that of cron: minute,
hour, day of the month, month and day of the week, with an optional second in front, or
@hourly, @daily and the like. Put it in quotes. The dialect is that of Vixie cron, with L, W
and # beside it: if the day of the month or of the week begins with *, a day must fit both,
otherwise either is enough. What other dialects read differently is said.

In the time zone, a time that is skipped when clocks are put forward comes as much later, and
one that comes twice when they are put back fires once; a pattern for every hour fires in
each hour that passes.

--missed sets what happens with times that nobody could take, for example because the machine
slept: one run for all of them (once), or none (skip). --overlap sets what happens when the
run before has not ended: the time is left out (skip), waits (queue), or both work at the same
time in the same working copy (allow).

The runs read the workflow file as it is then. If it has changed, its commands must be
confirmed first: run it, or enable the schedule again. Prints the schedule's name, and notes the next five
times.`,
		MinArgs: 2, MaxArgs: 2,
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "name", Usage: "call the schedule `NAME` (default: the workflow's name)"},
			zoneFlag(),
			arg.InputFlag("the input of the runs: `JSON`, @FILE, or - for standard input"),
			&urfave.StringFlag{Name: "missed", Value: cron.MissedOnce, Usage: "what to do about missed times: `once` or skip"},
			&urfave.StringFlag{Name: "overlap", Value: cron.OverlapSkip, Usage: "what to do while the run before works: `skip`, queue or allow"},
		},
		Exits: arg.Writes(),
		Examples: []arg.Example{
			{"triage every night", `git smithers cron add "30 2 * * *" triage.yaml --name nightly`},
			{"every ten minutes in office hours in Berlin", `git smithers cron add "*/10 9-17 * * MON-FRI" watch.yaml --zone Europe/Berlin`},
		},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			input, err := arg.ReadInput(s, c)
			if err != nil {
				return err
			}
			schedule := &cron.Schedule{
				ID: c.String("name"), Pattern: c.Args().First(), Zone: c.String("zone"), Input: input, Missed: c.String("missed"), Overlap: c.String("overlap"),
				CreatedAtMs: s.Now().UnixMilli(),
			}
			return s.WithStore(ctx, func(store *timeline.Store) error {
				if err := requests.Open(s, store).AddSchedule(ctx, c.Args().Get(1), schedule); err != nil {
					return err
				}
				return tellSchedule(s, schedule)
			})
		},
	}
}

// scheduleDocument is a schedule with --json.
type scheduleDocument struct {
	Kind     string          `json:"kind"`
	ID       string          `json:"id"`
	Pattern  string          `json:"pattern"`
	Zone     *string         `json:"zone"` // null for the machine's
	Workflow string          `json:"workflow"`
	Input    json.RawMessage `json:"input"`
	Missed   string          `json:"missed"`
	Overlap  string          `json:"overlap"`
	Enabled  bool            `json:"enabled"` // in this clone

	CreatedAtMs int64   `json:"createdAtMs"`
	NextAtMs    *int64  `json:"nextAtMs"`
	UpcomingMs  []int64 `json:"upcomingAtMs"` // the next five times, nextAtMs first; [] if it does not fire
	LastAtMs    *int64  `json:"lastAtMs"`
	LastRun     *string `json:"lastRun"`
	LastStatus  *string `json:"lastStatus"` // of that run; null if there is none any more
	Error       *string `json:"error"`
	ErrorAtMs   *int64  `json:"errorAtMs"`
	Elsewhere   bool    `json:"elsewhere"` // it was enabled in another clone, or came from Smithers
}

// describeSchedule returns the document of a schedule without LastStatus.
func describeSchedule(s *cron.Schedule) scheduleDocument {
	upcoming := s.Upcoming(upcomingTimes)
	if upcoming == nil {
		upcoming = []int64{}
	}
	return scheduleDocument{
		Kind: "schedule", ID: s.ID, Pattern: s.Pattern, Zone: display.OrNull(s.Zone), Workflow: s.Workflow, Input: s.Input, Missed: s.Missed, Overlap: s.Overlap,
		Enabled: s.Fires(), CreatedAtMs: s.CreatedAtMs, NextAtMs: s.NextAtMs, UpcomingMs: upcoming, LastAtMs: s.LastAtMs, LastRun: display.OrNull(s.LastRun),
		Error: display.OrNull(s.Error), ErrorAtMs: s.ErrorAtMs, Elsewhere: s.Foreign() || s.FromSmithers() && !s.Fires(),
	}
}

// tellSchedule prints a schedule that was changed, and notes when it fires.
func tellSchedule(s *session.Session, schedule *cron.Schedule) error {
	if s.JSON {
		return s.WriteJSON(describeSchedule(schedule))
	}
	if times := schedule.Upcoming(upcomingTimes); len(times) > 0 {
		next, then := moments(s, schedule, times)
		s.Note("schedule %s fires next %s, if `git smithers supervise` runs then", plain.Text(schedule.ID), next)
		if then != "" {
			s.Note("then %s", then)
		}
	}
	noteDifferences(s, schedule.Differences())
	return s.Printf("%s\n", plain.Text(schedule.ID))
}

func cronListCommand() *arg.Command {
	return &arg.Command{
		Name:    "list",
		Summary: "list the schedules",
		About: `Lists the schedules: the name, the pattern with its time zone, the workflow, when it fires
next, the run that it started last with its status, why a time came to nothing, and the four
times after the next. Times are in the zone of the pattern, which is named beside them.`,
		Exits:    arg.Reads(),
		Examples: []arg.Example{{"see when what runs next", "git smithers cron list"}},
		Run: func(ctx context.Context, s *session.Session, _ *urfave.Context) error {
			return s.WithStore(ctx, func(store *timeline.Store) error { return runCronList(ctx, s, store) })
		},
	}
}

// runCronList prints a line for each schedule.
func runCronList(ctx context.Context, s *session.Session, store *timeline.Store) error {
	all, err := cron.Of(store).All(ctx)
	if err != nil {
		return err
	}
	if len(all) == 0 && s.OutTTY {
		s.Note("no schedules; `git smithers cron add` adds one")
	}
	t := term.Table{Header: []string{"NAME", "PATTERN", "WORKFLOW", "NEXT", "LAST RUN", "STATUS", "ERROR", "THEN"}}
	for _, schedule := range all {
		doc := describeSchedule(schedule)
		if schedule.LastRun != "" {
			head, err := store.Head(ctx, schedule.LastRun)
			code := fault.CodeOf(err)
			if err != nil && code != fault.RunNotFound && code != fault.RunPruned {
				return err
			}
			switch {
			case err == nil:
				status := string(head.Row().Status)
				doc.LastStatus = &status
			case code == fault.RunNotFound: // its process was killed before it created the run, or somebody removed it
				doc.LastRun = nil
			}
		}
		if s.JSON {
			if err := s.WriteJSON(doc); err != nil {
				return err
			}
			continue
		}
		t.Add(scheduleCells(s, schedule, doc)...)
	}
	if s.JSON {
		return nil
	}
	return t.Write(s.Terminal)
}

// scheduleCells returns the line of a schedule.
func scheduleCells(s *session.Session, schedule *cron.Schedule, doc scheduleDocument) []term.Cell {
	next, then := moments(s, schedule, schedule.Upcoming(upcomingTimes))
	switch {
	case schedule.Fires() && schedule.NextAtMs != nil && *schedule.NextAtMs <= s.Now().UnixMilli():
		next = "due"
	case doc.Elsewhere:
		next = "not enabled here"
	case !schedule.Fires():
		next = "disabled"
	}
	pattern := schedule.Pattern
	if schedule.Zone != "" {
		pattern += " " + schedule.Zone
	}
	var cells []term.Cell
	for _, text := range []string{schedule.ID, pattern, schedule.Workflow, next, display.OrEmpty(doc.LastRun), display.OrEmpty(doc.LastStatus), plain.Shorten(plain.Words(schedule.Error), 100), then} {
		cells = append(cells, term.Cell{Text: plain.Text(text)})
	}
	return cells
}

func cronEnableCommand() *arg.Command {
	return &arg.Command{
		Name:    "enable",
		Summary: "let a schedule fire in this clone",
		Usage:   []string{"<name> [--yes]"},
		About: `Lets a schedule fire from now on; times before do not count. If the commands of its workflow
were never run or confirmed in this clone, they are shown, and you are asked.`,
		MinArgs: 1, MaxArgs: 1,
		Flags:    []urfave.Flag{requests.ConfirmFlag()},
		Exits:    arg.Writes(),
		Examples: []arg.Example{{"enable a schedule that an import brought", "git smithers cron enable nightly"}},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			return s.WithStore(ctx, func(store *timeline.Store) error {
				schedule, err := requests.Open(s, store).EnableSchedule(ctx, c.Args().First(), requests.Consenter(s, c.Bool("yes")))
				if err != nil {
					return err
				}
				return tellSchedule(s, schedule)
			})
		},
	}
}

func cronDisableCommand() *arg.Command {
	return &arg.Command{
		Name:    "disable",
		Summary: "stop a schedule",
		Usage:   []string{"<name>"},
		About:   `Stops a schedule, which stays in the list. A run that it has started goes on.`,
		MinArgs: 1, MaxArgs: 1,
		Exits:    arg.Writes(),
		Examples: []arg.Example{{"stop the schedule nightly", "git smithers cron disable nightly"}},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			return s.WithStore(ctx, func(store *timeline.Store) error {
				found, err := cron.Of(store).Find(ctx, c.Args().First())
				if err == nil {
					found, err = cron.Of(store).Disable(ctx, found.ID)
				}
				if err != nil {
					return err
				}
				return tellSchedule(s, found)
			})
		},
	}
}

func cronRemoveCommand() *arg.Command {
	return &arg.Command{
		Name:    "remove",
		Summary: "remove a schedule",
		Usage:   []string{"<name>"},
		About:   `Removes the schedule with this whole name. Its runs stay.`,
		MinArgs: 1, MaxArgs: 1,
		Exits:    arg.Writes(),
		Examples: []arg.Example{{"remove the schedule nightly", "git smithers cron remove nightly"}},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			return s.WithStore(ctx, func(store *timeline.Store) error {
				id := c.Args().First()
				if err := cron.Of(store).Remove(ctx, id); err != nil {
					return err
				}
				if s.JSON {
					return s.WriteJSON(struct {
						Kind string `json:"kind"`
						ID   string `json:"id"`
					}{"scheduleRemoved", id})
				}
				return s.Printf("%s\n", plain.Text(id))
			})
		},
	}
}

func cronRunNowCommand() *arg.Command {
	return &arg.Command{
		Name:    "run-now",
		Summary: "run the workflow of a schedule now",
		Usage:   []string{"<name> [--yes]"},
		About: `Runs the workflow with the input of the schedule, as run does, and records the run as its
last one. The schedule need not be enabled, and fires next when it would have anyway.`,
		MinArgs: 1, MaxArgs: 1,
		Flags:    append([]urfave.Flag{requests.ConfirmFlag()}, requests.EngineFlags()...),
		Exits:    arg.Runs(),
		Examples: []arg.Example{{"try a schedule", "git smithers cron run-now nightly"}},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			settings, err := requests.ParseSettings(s, c)
			if err != nil {
				return err
			}
			return s.WithStore(ctx, func(store *timeline.Store) error {
				requests.NoteUnmasked(s, store)
				result, err := requests.Open(s, store).RunScheduled(ctx, c.Args().First(), settings)
				if result == nil {
					return err
				}
				return requests.TellResult(s, result, err, requests.DescribeResult("result", result))
			})
		},
	}
}
