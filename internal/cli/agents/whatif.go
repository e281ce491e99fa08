package agents

import (
	"context"
	"errors"
	"fmt"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/internal/peer/agent/hooks"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func whatIfCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "what-if",
		Summary: "take another course from a step of a session",
		Usage: []string{
			"<session>[:<frame> | :turn:N | :CALL] [PROMPT | -] [--to DIR] [--branch NAME] [--no-start | --dry-run]",
			"<session>[:<frame> | :turn:N | :CALL] [PROMPT | - | --prompts FILE] [--times N] [--group ID]",
			"<session>[:<frame> | :turn:N | :CALL] [PROMPT | - | --prompts FILE] [--times N] [--group ID] --run [--parallel N] [--yes] [-- FLAG...]",
		},
		About: `Puts the files of the frame into a new working copy, cuts the conversation there, and starts the agent
on both. With --no-start, and where nobody is at a terminal, it prints the command that starts the
agent. The session of before, its files and its conversation stay as they are. The new course is a
fork of the run: branches shows it.

The new working copy gets a copy of the ignored files that .worktreeinclude names, and the command in
smithers.worktree.setup runs there once. what-if says which ignored folders it lacks otherwise.

--prompts makes a course for each prompt of a file, and --times several for each prompt, as one group.
what-if prints the command of each: a terminal has room for one agent. Prompts stand one a line or, if
the file has blank lines, between these; in a file *.jsonl, each line is a JSON text. show, compare
--group and land --best take the group.

--run starts the agents side by side, each in its own folder and without a terminal (claude -p, codex
exec, opencode run, …), once you have seen the command lines and said yes. What follows -- are flags
for the agent, such as --permission-mode acceptEdits. What the agents print is in files that what-if
names. Ctrl-C ends all; resume of the group goes on with those that have not ended.

<session> is a run, the agent's own id, or @ for the newest session. The frame is a number, turn:7
(before the seventh prompt, so that you can say something else), or the id of a tool call (after its
result). The prompt - is read from standard input, so that no shell reads it. Processes, databases, and
the agent's memory and permissions do not go back.`,
		MinArgs: 1, MaxArgs: arg.AnyNumber,
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "to", Usage: "make the working copy in `DIR`"},
			&urfave.StringFlag{Name: "branch", Usage: "put the working copy on the new branch `NAME`; otherwise it is on none"},
			&urfave.StringFlag{Name: "prompts", Usage: "make a course for each prompt of `FILE`; - is standard input"},
			&urfave.IntFlag{Name: "times", Value: 1, Usage: "make `N` courses of each prompt"},
			&urfave.StringFlag{Name: "group", Usage: "give the group of several courses this `ID`"},
			&urfave.BoolFlag{Name: "run", Usage: "run the agents now, without a terminal"},
			&urfave.IntFlag{Name: "parallel", Value: defaultAgents, Usage: "with --run: at most `N` agents side by side"},
			&urfave.BoolFlag{Name: "no-start", Usage: "print the command that starts the agent"},
			&urfave.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "start agents without asking: with --run, and on a session of somebody else"},
			&urfave.BoolFlag{Name: "dry-run", Usage: "say what would be kept, and make nothing"},
			requests.ForceFlag(), requests.TrustFilesFlag(),
		},
		Exits: arg.Writes(),
		Examples: []arg.Example{
			{"say something else at the third prompt of the newest session", "git smithers session what-if @:turn:3 'Write the tests first.'"},
			{"try each prompt of a file", "git smithers session what-if @:turn:3 --prompts prompts.txt"},
			{"let three agents try the same", "git smithers session what-if @:turn:7 'Fix the failing test.' --times 3 --run --group fix -- --permission-mode acceptEdits"},
			{"go on from a frame", "git smithers session what-if claude-1c5e0d9e:12 'Do not touch the parser.'"},
		},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		if c.IsSet("prompts") || c.IsSet("times") || c.Bool("run") {
			return runCourses(ctx, s, cmd, c)
		}
		if c.IsSet("group") || c.IsSet("parallel") {
			return cmd.Misused("--group and --parallel are for several courses: add --prompts, --times or --run")
		}
		if c.NArg() > 2 {
			return cmd.Misused("what-if takes a session and a prompt, got %d words: a prompt of several words needs quotation marks", c.NArg())
		}
		return runCourse(ctx, s, c)
	}
	return cmd
}

// defaultAgents is how many agents work at once, unless --parallel is given.
const defaultAgents = 3

// runCourse makes a course, or plans one, and starts the agent on it or prints how to.
func runCourse(ctx context.Context, s *session.Session, c *urfave.Context) error {
	var course *agent.Course
	var equipped files.Equipped
	var required bool
	err := s.WithStore(ctx, func(store *timeline.Store) error { // closed before the agent begins
		required = store.Settings().SandboxRequired
		ask, err := askCourse(ctx, s, store, c)
		if err != nil {
			return err
		}
		if ask.Prompt, err = textOf(ctx, s, "PROMPT", c.Args().Get(1)); err != nil {
			return err
		}
		course, equipped, err = makeCourse(ctx, s, store, ask, c.Bool("dry-run"))
		return err
	})
	if err != nil {
		return err
	}
	if course.Dir == "" || c.Bool("no-start") || !s.CanAsk() || !s.OutTTY {
		return writeCourse(s, course, equipped)
	}
	sayCourse(s, course)
	if err := mayStart(s, course, c.Bool("yes"), required); err != nil {
		return err
	}
	return start(ctx, s, course)
}

// askCourse reads the request for a course without its prompt from the command line.
func askCourse(ctx context.Context, s *session.Session, store *timeline.Store, c *urfave.Context) (agent.WhatIf, error) {
	from, err := agent.Address(ctx, store, c.Args().First())
	ask := agent.WhatIf{From: from, Branch: c.String("branch"), Env: s.Env, Effects: requests.ConfirmEffects(s, c.Bool("force"), false, false)}
	if to := c.String("to"); to != "" {
		ask.Dir = s.Path(to)
	}
	return ask, err
}

// makeCourse makes and equips a course, or plans it if dryRun is set.
func makeCourse(ctx context.Context, s *session.Session, store *timeline.Store, ask agent.WhatIf, dryRun bool) (*agent.Course, files.Equipped, error) {
	take := ask.Make
	if dryRun {
		take = ask.Plan
	}
	course, err := take(ctx, store)
	if err != nil || course.Dir == "" {
		return course, files.Equipped{}, err
	}
	equipped, err := requests.Open(s, store).Equip(ctx, course.Files, files.Equipment{})
	if err := hookCourse(store, course); err != nil {
		s.Warn(fmt.Errorf("the course is not recorded: %w", err))
	}
	return course, equipped, courseThere(err, course)
}

// hookCourse adds the agent's hooks to the settings of the course. It leaves the course of a stranger's session alone.
func hookCourse(store *timeline.Store, c *agent.Course) error {
	speaks, ok := dialect.Of(c.Agent)
	if !ok || !c.Recorded {
		return nil
	}
	return hooks.Follow(store, c.Dir, speaks)
}

// courseThere returns err, which has hindered a course from being whole, with the hint how to start the agent on it.
func courseThere(err error, c *agent.Course) error {
	if failed, ok := errors.AsType[*fault.Error](err); ok {
		return failed.Hint("the course is there, as run %s: `%s`", c.Run, startLine(c)).Detail("runId", c.Run)
	}
	return err
}

// writeCourse prints what a course keeps and, if it was made, the commands that start the agent. equipped is what its working copy got.
func writeCourse(s *session.Session, c *agent.Course, equipped files.Equipped) error {
	if s.JSON {
		return s.WriteJSON(describeCourse(c, equipped))
	}
	sayCourse(s, c)
	if c.Dir == "" {
		return nil
	}
	if !c.Recorded {
		s.Note("%s was not recorded in this clone: the agent will obey its conversation, and run what settings in its files say", plain.Text(c.From.Run))
	}
	_, err := fmt.Fprintln(s.Out, startLine(c))
	return err
}

// describeCourse returns the JSON document of a course.
func describeCourse(c *agent.Course, equipped files.Equipped) any {
	return term.Document("what-if", term.Member("from", c.From.String()), term.Optional("run", c.Run), term.Optional("session", c.Session),
		term.Optional("dir", c.Dir), term.Optional("file", c.File), term.Member("kept", c.Kept), term.Member("of", c.Of),
		term.Member("missingSecrets", c.Missing), term.Optional("command", c.Command), equipped)
}

// sayCourse says what a course keeps, and where it is.
func sayCourse(s *session.Session, c *agent.Course) {
	sayKept(s, c)
	if c.Dir != "" {
		s.Note("the new course is run %s, in %s", c.Run, plain.Text(c.Dir))
	}
}

// sayKept says what a course keeps of the conversation.
func sayKept(s *session.Session, c *agent.Course) {
	s.Note("from %s: %d of %d lines of the conversation are kept", c.From, c.Kept, c.Of)
	if c.Missing > 0 {
		s.Note("not in this clone: %s of the conversation; placeholders stay there", plain.Count(c.Missing, "secret"))
	}
}
