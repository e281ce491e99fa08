package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/outfit"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// addChanges adds the tools that change something.
func (s *server) addChanges(to *sdk.Server) {
	addTool(to, "checkpoint", "Keeps the files of now as a frame of your session, under a label, to come back to. At most one a second.",
		&sdk.ToolAnnotations{DestructiveHint: new(false)}, s.checkpoint)
	addTool(to, "restore", "Brings the files of a frame back into the working copy, after the person has agreed. Unsaved changes are kept as a frame first.",
		&sdk.ToolAnnotations{DestructiveHint: new(true)}, s.restore)
	addTool(to, "what_if", "Makes another course of a session from a frame on, after the person has agreed: its files in a new folder, and its conversation "+
		"up to there. Returns the command that starts the agent there, and does not run it.", &sdk.ToolAnnotations{DestructiveHint: new(false)}, s.whatIf)
}

type checkpointInput struct {
	Label   string `json:"label,omitempty" jsonschema:"what to call the moment"`
	Session string `json:"session,omitempty" jsonschema:"the session; by default the newest one of this folder"`
}

// between is the least time between two checkpoints.
const between = time.Second

// checkpoint appends a frame to a session.
func (s *server) checkpoint(ctx context.Context, _ *sdk.CallToolRequest, in checkpointInput) *sdk.CallToolResult {
	s.mu.Lock()
	now := s.streams.Now()
	since := now.Sub(s.checked)
	if early := since >= 0 && since < between; early {
		s.mu.Unlock()
		return failure(fault.New(fault.LimitExceeded, "the last checkpoint was made less than a second ago").Hint("go on: it has your files"))
	}
	s.checked = now
	s.mu.Unlock()
	c := line("session", "checkpoint", "--message=-", "--", in.Session)
	c.in = in.Label
	return s.read(ctx, c, "")
}

type restoreInput struct {
	At  string `json:"at" jsonschema:"RUN:FRAME, with the whole id of the run or @session"`
	Own bool   `json:"own,omitempty" jsonschema:"only files that the session's own calls of tools name, if others worked in the folder"`
}

// restore brings back the files of a frame.
func (s *server) restore(ctx context.Context, req *sdk.CallToolRequest, in restoreInput) *sdk.CallToolResult {
	var plan struct {
		From, Path string
		Changes    []jjbridge.PathChange
	}
	own := opt("--own", in.Own)
	if _, failed := s.plan(ctx, line("restore", own, "--dry-run", "--", in.At), &plan); failed != nil {
		return failed
	}
	q := s.ask(req, "restore")
	q.say("Restore the files of %s in %s?", plan.From, plan.Path)
	q.say("%s would change:", plain.Count(len(plan.Changes), "file"))
	q.list(len(plan.Changes), func(i int) string { return plan.Changes[i].Op + "  " + plan.Changes[i].Path })
	q.say("Unsaved changes are kept as a frame first. No command runs.")
	if len(plan.Changes) > 0 {
		if answer := q.confirm(plan, in.Own); answer != nil {
			return answer
		}
	}
	return s.read(ctx, line("restore", own, "--", plan.From), "")
}

type whatIfInput struct {
	At     string `json:"at" jsonschema:"SESSION:FRAME or SESSION:turn:N, just before the Nth prompt; @session is the newest session"`
	Prompt string `json:"prompt,omitempty" jsonschema:"the first prompt of the new course"`
}

// whatIf makes another course of a session.
func (s *server) whatIf(ctx context.Context, req *sdk.CallToolRequest, in whatIfInput) *sdk.CallToolResult {
	var plan struct {
		From     string
		Kept, Of int
	}
	done, failed := s.plan(ctx, line("session", "what-if", "--dry-run", "--", in.At), &plan)
	if failed != nil {
		return failed
	}
	if done.root == "" {
		return failure(jjbridge.ErrNoWorkingCopy)
	}
	if len(term.Visible(in.Prompt)) > maxLine {
		return failure(fault.New(fault.LimitExceeded, "the prompt is too long for a question: the most is %s characters", plain.Number(maxLine)).
			Hint("write the prompt into a file, and let the prompt name the file"))
	}
	q := s.ask(req, "what-if")
	dir := fmt.Sprintf("%s-what-if-%.8s", done.root, q.id)
	q.say("Take another course of the session from %s on?", plan.From)
	q.say("The files of that frame go into the new folder %s", dir)
	q.say("%d of %d lines of the conversation are kept.", plan.Kept, plan.Of)
	if in.Prompt != "" {
		q.say("The first prompt there: %s", in.Prompt)
	}
	if done.setup == "" {
		q.say("No command runs, and the agent is not started.")
	} else {
		q.say("The command of %s runs there: %s", outfit.Setting, done.setup)
		q.say("The agent is not started.")
	}
	if answer := q.confirm(plan, in.Prompt, done.setup); answer != nil {
		return answer
	}
	c := line("session", "what-if", "--no-start", opt("--to", dir), "--", plan.From)
	if in.Prompt != "" {
		c.args, c.in = append(c.args, "-"), in.Prompt
	}
	return s.read(ctx, c, "")
}

// plan runs a command that changes nothing, and decodes its document into doc. If the command fails, it returns the result that says so.
func (s *server) plan(ctx context.Context, c command, doc any) (*answer, *sdk.CallToolResult) {
	c.args, c.now = append([]string{"--json"}, c.args...), s.streams.Now()
	done, err := s.run(ctx, c)
	if err == nil && !done.failed() {
		err = json.Unmarshal(done.raw, doc)
	}
	switch {
	case err != nil:
		return nil, failure(err)
	case done.failed():
		return nil, result(quote(done.notes), true)
	}
	return done, nil
}
