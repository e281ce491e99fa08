package agents

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/app/courses"
	"github.com/git-smithers/git-smithers/internal/app/group"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/lazyregexp"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// maxCourses is the largest number of courses that what-if makes at once.
const maxCourses = 50

// blankLines matches what separates prompts of several lines.
var blankLines = lazyregexp.New(`\n[ \t]*\n\s*`)

// readPrompts returns the prompts in the text of a file: see the help of what-if. Code: invalid_input with all lines that are no prompts.
func readPrompts(file string, data []byte) ([]string, error) {
	text := strings.Trim(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")
	var prompts, flaws []string
	switch {
	case strings.HasSuffix(file, ".jsonl"):
		for i, line := range bytes.Split(data, []byte("\n")) {
			var prompt string
			if line = bytes.TrimSpace(line); len(line) == 0 {
				continue
			}
			if json.Unmarshal(line, &prompt) != nil || strings.TrimSpace(prompt) == "" {
				flaws = append(flaws, fmt.Sprintf("%s:%d is not a JSON text", file, i+1))
			}
			prompts = append(prompts, prompt)
		}
	case blankLines.MatchString(text):
		prompts = strings.Split(blankLines.ReplaceAllString(text, "\x00"), "\x00")
	default:
		prompts = strings.Split(text, "\n")
	}
	if len(flaws) == 0 && (text == "" || len(prompts) > maxCourses) {
		flaws = append(flaws, fmt.Sprintf("%s has %s; it can have 1 to %d", file, plain.Count(len(prompts), "prompt"), maxCourses))
	}
	if len(flaws) > 0 {
		out := fault.New(fault.InvalidInput, "--prompts: %s; nothing was made", flaws[0]).Detail("flaws", flaws)
		for _, flaw := range flaws[1:] {
			out = out.Hint("%s", flaw)
		}
		return nil, out
	}
	return prompts, nil
}

// parseCourses reads the request for several courses from the command line, without where they begin.
func parseCourses(ctx context.Context, s *session.Session, cmd *arg.Command, c *urfave.Context) (req app.CoursesRequest, err error) {
	req = app.CoursesRequest{Prompts: []string{""}, Parallel: 1, Start: c.Bool("run")}
	words := c.Args().Slice()
	if at := slices.Index(s.Args, "--"); at >= 0 {
		n := min(len(s.Args)-at-1, len(words))
		words, req.Flags = words[:len(words)-n], words[len(words)-n:]
	}
	switch {
	case c.IsSet("to") || c.IsSet("branch") || c.Bool("no-start"):
		return req, cmd.Misused("several courses, and --run, go with neither --to, --branch nor --no-start")
	case len(req.Flags) > 0 && !req.Start:
		return req, cmd.Misused("flags for the agent after -- need --run")
	case len(words) > 2 || len(words) > 1 && c.IsSet("prompts"):
		return req, cmd.Misused("--prompts goes with no other prompt")
	case c.Int("times") < 1 || c.Int("parallel") < 1:
		return req, cmd.Misused("--times %d --parallel %d: both take a number from 1", c.Int("times"), c.Int("parallel"))
	case c.IsSet("parallel") && !req.Start:
		return req, cmd.Misused("--parallel needs --run")
	}
	if req.Start {
		req.Parallel = c.Int("parallel")
	}
	if len(words) > 1 {
		prompt, err := textOf(ctx, s, "PROMPT", words[1])
		if err != nil {
			return req, err
		}
		req.Prompts = []string{prompt}
	}
	if file := c.String("prompts"); c.IsSet("prompts") {
		data, err := arg.ReadText(ctx, s, "--prompts", file)
		if err == nil {
			req.Prompts, err = readPrompts(file, data)
		}
		if err != nil {
			return req, err
		}
	}
	if req.Start && strings.TrimSpace(req.Prompts[0]) == "" {
		return req, cmd.Misused("--run needs a prompt, or --prompts FILE: nobody is there to type one")
	}
	if n := len(req.Prompts) * c.Int("times"); n > maxCourses || c.Int("times") > maxCourses {
		return req, fault.New(fault.LimitExceeded, "these would be %d courses; a group can have %d", n, maxCourses).Hint("divide them into several groups")
	}
	once := req.Prompts
	for req.Prompts = nil; len(req.Prompts) < len(once)*c.Int("times"); {
		req.Prompts = append(req.Prompts, slices.Repeat(once[len(req.Prompts)/c.Int("times"):][:1], c.Int("times"))...)
	}
	if req.Group, err = arg.NewGroupID(c, "group"); err != nil {
		return req, err
	}
	req.Group = cmp.Or(req.Group, workflow.CoursesName+"-"+timeline.NewRunID())
	return req, nil
}

// madeCourses is what a request for several courses has made.
type madeCourses struct {
	mu  sync.Mutex
	all []courses.Made
}

// tell adds a course.
func (m *madeCourses) tell(made courses.Made) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = append(m.all, made)
}

// runCourses makes several courses as one group, and prints how to start the agents or, with --run, runs them and prints what became of them.
func runCourses(ctx context.Context, s *session.Session, cmd *arg.Command, c *urfave.Context) error {
	req, err := parseCourses(ctx, s, cmd, c)
	if err != nil {
		return err
	}
	return s.WithStore(ctx, func(store *timeline.Store) error {
		ask, err := askCourse(ctx, s, store, c)
		if err == nil {
			err = timeline.CheckFree(ctx, store, req.Group)
		}
		if err != nil {
			return err
		}
		if c.Bool("dry-run") {
			s.Note("%s would begin at %s", plain.Count(len(req.Prompts), "course"), plain.Text(ask.From))
			_, _, err := makeCourse(ctx, s, store, ask, true)
			return err
		}
		made := new(madeCourses)
		req.From, req.Told = ask, made.tell
		req.Agree = func(course *agent.Course, commands [][]string) error {
			return agreeToAgents(s, course, commands, req.Parallel, c.Bool("yes"))
		}
		result, err := requests.Open(s, store).GroupCourses(ctx, req)
		if result == nil {
			return err
		}
		told := tellCourses(context.WithoutCancel(ctx), s, store, req, made.all)
		if err == nil && told == nil && !s.JSON {
			when := ""
			if !req.Start {
				when = " when their agents have ended"
			}
			s.Note("`%s` judges them%s", fault.CommandLine(fault.Program, "compare", "--group", req.Group, "--score", "COMMAND"), when)
		}
		return errors.Join(err, told)
	})
}

// agreeToAgents asks a person whether agents may be started without a terminal, unless yes is set. Code: unconfirmed if the person says no, or nobody can
// be asked.
func agreeToAgents(s *session.Session, course *agent.Course, commands [][]string, parallel int, yes bool) error {
	what := fmt.Sprintf("%s of %s, each in a new folder and at most %d at once. Nobody is asked what they may do: their settings and flags decide.",
		plain.Count(len(commands), "agent"), plain.Text(course.From.String()), parallel)
	var lines []string
	for _, words := range commands {
		lines = append(lines, fault.CommandLine(words[0], words[1:]...))
	}
	if !course.Recorded {
		lines = append(lines, "The session was not recorded in this clone: the agents will obey its conversation, and run what settings in its files say.")
	}
	if yes || s.CanAsk() {
		s.Talk("%s\n", what)
		for _, line := range lines {
			s.Talk("  %s\n", plain.Text(line))
		}
	}
	if yes {
		return nil
	}
	if s.CanAsk() {
		if answer, err := s.Ask("Start them?"); err == nil && answer {
			return nil
		}
	}
	out := fault.New(fault.Unconfirmed, "you did not confirm that %s started without a terminal", map[bool]string{true: "an agent is", false: "agents are"}[len(commands) == 1]).
		Hint("nothing was made; add --yes to start them without a question")
	for _, line := range lines {
		out = out.Hint("%s", plain.Text(line))
	}
	return out
}

// tellCourses prints the courses of a group.
func tellCourses(ctx context.Context, s *session.Session, store *timeline.Store, req app.CoursesRequest, made []courses.Made) error {
	g, err := group.Open(ctx, store, req.Group, "", s.Now())
	if err != nil {
		return err
	}
	slices.SortFunc(made, func(a, b courses.Made) int { return cmp.Compare(a.Number, b.Number) })
	var first error
	documents := []any{}
	for _, one := range made {
		v := g.Variants[one.Number-1]
		if s.JSON {
			documents = append(documents, describeStarted(store, req, one, v))
		} else if err := tellCourse(s, store, req, one, v); err != nil {
			return err
		}
		if one.Err != nil && first == nil {
			first = courseThere(one.Err, one.Course)
		}
	}
	for _, v := range g.Variants { // those that could not be made
		if first == nil && v.Head() == nil && v.Error != "" {
			first = fault.New(fault.WriteFailed, "course %d of group %s was not made: %s", v.Number, g.Row.ID, v.Error)
		}
	}
	if s.JSON {
		return cmp.Or(s.WriteJSON(term.Document("what-if-group", term.Member("group", req.Group), term.Member("courses", documents))), first)
	}
	s.Note("group %s: %s", plain.Text(req.Group), strings.Replace(g.Count(), "variant", "course", 1))
	return first
}

// tellCourse prints a course of a group: the command that starts its agent or, if the agent was started, what became of it.
func tellCourse(s *session.Session, store *timeline.Store, req app.CoursesRequest, made courses.Made, v *group.Variant) error {
	if !req.Start {
		return writeCourse(s, made.Course, made.Equipped)
	}
	if path, err := courses.LogPath(store, req.Group, made.Number); err == nil && v.Error != "" {
		s.Warn(fmt.Errorf("course %d: %s; %s has what its agent said", made.Number, v.Error, path))
	}
	return s.Printf("%d\t%s\t%s\t%s\n", made.Number, plain.Text(made.Run), v.Status, plain.Text(made.Dir))
}

// describeStarted returns the JSON document of a course of a group.
func describeStarted(store *timeline.Store, req app.CoursesRequest, made courses.Made, v *group.Variant) any {
	if !req.Start {
		return describeCourse(made.Course, made.Equipped)
	}
	log, _ := courses.LogPath(store, req.Group, made.Number) // the group has an id
	return term.Document("what-if", term.Member("from", made.From.String()), term.Member("run", made.Run), term.Member("session", made.Session),
		term.Member("dir", made.Dir), term.Member("kept", made.Kept), term.Member("of", made.Of), term.Member("command", made.Command),
		term.Member("status", v.Status), term.Optional("error", v.Error), term.Member("log", log), made.Equipped)
}
