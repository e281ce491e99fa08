package app

import (
	"context"
	"encoding/json"

	"github.com/git-smithers/git-smithers/internal/app/courses"
	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// sessionWorkflow stands in the definition of a group of courses for what their agents do.
const sessionWorkflow = "name: session\ntasks:\n  - {id: session, approval: The agent goes on with the session.}\n"

// CoursesRequest asks for several courses of a session from a frame on, as a group.
type CoursesRequest struct {
	From     agent.WhatIf // without a prompt, a run and a folder
	Group    string       // the id of the group
	Prompts  []string     // the first prompt of each course
	Parallel int          // how many courses are made, and how many agents work, at once
	Start    bool         // run the agents without a terminal
	Flags    []string     // further flags for the agents
	// Agree is asked before anything is made if Start is set, with the words of the command of each agent. An error ends the request.
	Agree func(course *agent.Course, commands [][]string) error
	Told  func(courses.Made) // is told of each course; may be nil
	Settings
}

// GroupCourses makes the group and its courses and, with req.Start, runs their agents until all have ended. The result and the errors are those of Run,
// for the group. A course that cannot be made, or whose agent fails, does not fail the group. The courses are no called runs, because a push of the
// group would bring their conversations along. Codes besides: those of WhatIf.Make; program_missing.
func (d *Desk) GroupCourses(ctx context.Context, req CoursesRequest) (*Result, error) {
	course, err := req.From.Plan(ctx, d.Store)
	if err != nil {
		return nil, err
	}
	plan := workflow.SweepPlan{From: course.From.String(), Parallel: req.Parallel, Start: req.Start, Flags: req.Flags}
	for _, prompt := range req.Prompts {
		variant, err := jsontext.Encode(map[string]string{"prompt": prompt})
		if err != nil {
			return nil, timeline.Explain(err)
		}
		plan.Variants, plan.Courses = append(plan.Variants, variant), append(plan.Courses, agent.NewRun(course.Agent))
	}
	if err = timeline.CheckFree(ctx, d.Store, req.Group); err == nil && req.From.Effects != nil {
		_, err = d.Store.Fork(ctx, timeline.ForkRequest{ // asks once for all courses
			From: plan.From, RunID: plan.Courses[0], Effects: req.From.Effects, DryRun: func(*timeline.LoadedEntry, snapshot.Draft) error { return nil },
		})
	}
	if err == nil && req.Start {
		err = agreeToAgents(d, course, &plan, req.Agree)
	}
	if err != nil {
		return nil, err
	}
	return runCourses(ctx, d, req, &plan)
}

// agreeToAgents asks whether the agents of a plan may be started.
func agreeToAgents(d *Desk, course *agent.Course, plan *workflow.SweepPlan, agree func(*agent.Course, [][]string) error) error {
	speaks := dialect.For(course.Agent)
	if speaks.Headless == nil {
		return courses.NotHeadless(course.Agent)
	}
	if !course.Recorded && d.Store.Settings().SandboxRequired {
		return fault.New(fault.Unconfirmed, "smithers.sandbox is required, and an agent is not started in a sandbox on a session of somebody else")
	}
	var commands [][]string
	for _, run := range plan.Courses {
		words, err := speaks.Headless(dialect.Seat{Session: run[len(agent.Run(course.Agent, "")):], Began: course.Kept > 0, Flags: plan.Flags, Env: d.Env})
		if err != nil {
			return err
		}
		commands = append(commands, words)
	}
	if _, err := gitexec.Find(d.Env, course.Agent); err != nil {
		return fault.New(fault.ProgramMissing, "%s is not installed, or not on PATH", course.Agent)
	}
	return agree(course, commands)
}

// runCourses makes the group of a plan, and executes it.
func runCourses(ctx context.Context, d *Desk, req CoursesRequest, plan *workflow.SweepPlan) (*Result, error) {
	var input json.RawMessage
	wf, err := workflow.Parse("session.yaml", []byte(sessionWorkflow))
	if err == nil {
		wf, err = workflow.NewSweep(workflow.CoursesName, wf, "session.yaml", len(plan.Courses))
	}
	if err == nil {
		input, err = jsontext.Encode(plan)
	}
	if err != nil {
		return nil, timeline.Explain(err)
	}
	draft, err := engine.Initial(req.Group, wf, input, d.Now())
	if err != nil {
		return nil, err
	}
	e := &execution{Desk: d, Settings: req.Settings, workflow: wf, ask: Agreed, named: true, told: req.Told}
	if e.head, err = d.Store.Create(ctx, snapshot.Run{ID: req.Group, CreatedAtMs: d.Now().UnixMilli()}, draft); err != nil {
		return nil, err
	}
	d.Teller.Note(ctx, CreatedNote{req.Group})
	return e.execute(ctx)
}

// courseOptions changes opts for the run of a group of courses. Codes: untrusted_files if this clone has not recorded the group; invalid_input if it
// is a fork.
func (e *execution) courseOptions(opts *engine.Options, plan *workflow.SweepPlan) error {
	origin, err := e.Store.Origin(e.head.Entry())
	if err == nil && origin != timeline.Recorded {
		err = fault.New(fault.UntrustedFiles, "group %q was not recorded in this clone, so its prompts are somebody else's", e.head.Row().ID).
			Hint("nothing was run; `%s` makes a course with a prompt of your own", fault.CommandLine(fault.Program, "session", "what-if", plan.From, "PROMPT"))
	}
	if row := e.head.Row(); err == nil && row.Parent != nil {
		err = notReplayed(row.ID)
	}
	maker := &courses.Maker{
		Store: e.Store, Group: e.head.Row().ID, Plan: plan, Commands: *opts, Told: e.told,
		Equip: func(ctx context.Context, made *files.WorkingCopy) (files.Equipped, error) {
			return e.Equip(ctx, made, files.Equipment{})
		},
	}
	opts.WorkingCopy, opts.MaxParallel, opts.Call = nil, plan.Parallel, maker.Call // each course has files of its own
	return err
}
