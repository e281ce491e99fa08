package agents

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/files"
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

// runCourses makes a course for each prompt of a file, as one group, and prints how to start the agents. If a course cannot be made, the group has those
// before it.
func runCourses(ctx context.Context, s *session.Session, cmd *arg.Command, c *urfave.Context) error {
	if c.NArg() > 1 || c.IsSet("to") || c.IsSet("branch") {
		return cmd.Misused("--prompts goes with no other prompt, and with neither --to nor --branch")
	}
	data, err := arg.ReadText(ctx, s, "--prompts", c.String("prompts"))
	if err != nil {
		return err
	}
	prompts, err := readPrompts(c.String("prompts"), data)
	if err != nil {
		return err
	}
	id, err := arg.NewRunID(c, "group")
	if err != nil {
		return err
	}
	id = cmp.Or(id, workflow.CoursesName+"-"+timeline.NewRunID())
	return s.WithStore(ctx, func(store *timeline.Store) error {
		ask, err := askCourse(ctx, s, store, c)
		if err == nil {
			err = timeline.CheckFree(ctx, store, id)
		}
		if err != nil {
			return err
		}
		if c.Bool("dry-run") {
			s.Note("%s would begin at %s", plain.Count(len(prompts), "course"), plain.Text(ask.From))
			_, _, err := makeCourse(ctx, s, store, ask, true)
			return err
		}
		var runs []string
		var courses []any
		for i := 0; i < len(prompts) && err == nil; i++ {
			var course *agent.Course
			var equipped files.Equipped
			ask.Prompt = prompts[i]
			if course, equipped, err = makeCourse(ctx, s, store, ask, false); course == nil || course.Dir == "" {
				continue
			}
			runs, courses, ask.Effects = append(runs, course.Run), append(courses, describeCourse(course, equipped)), nil // asked once
			if err == nil && !s.JSON {
				err = writeCourse(s, course, equipped)
			}
		}
		if len(runs) > 0 {
			err = errors.Join(err, requests.Open(s, store).GroupCourses(context.WithoutCancel(ctx), id, ask.From, prompts, runs))
		}
		if err != nil || !s.JSON {
			s.Note("group %s: %s", plain.Text(id), plain.Count(len(runs), "course"))
			return err
		}
		return s.WriteJSON(term.Document("what-if-group", term.Member("group", id), term.Member("courses", courses)))
	})
}
