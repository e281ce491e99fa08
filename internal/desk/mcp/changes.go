package mcp

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/git-smithers/git-smithers/internal/outfit"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// addChanges adds the tools that change something.
func (s *server) addChanges(to *sdk.Server) {
	sdk.AddTool(to, &sdk.Tool{
		Name: "checkpoint", Description: "Keeps the files of now as a frame of your session, under a label, to come back to. At most one a second.",
		Annotations: &sdk.ToolAnnotations{DestructiveHint: new(false), OpenWorldHint: new(false)},
	}, s.checkpoint)
	sdk.AddTool(to, &sdk.Tool{
		Name: "restore", Description: "Brings the files of a frame back into the working copy, after a person has agreed. What is unsaved is kept as a frame first.",
		Annotations: &sdk.ToolAnnotations{DestructiveHint: new(true), OpenWorldHint: new(false)},
	}, s.restore)
	sdk.AddTool(to, &sdk.Tool{
		Name: "what_if", Description: "Makes another course of a session from a frame on, after a person has agreed: its files in a new folder, and its " +
			"conversation up to there. It returns the command that starts the agent there, and does not run it.",
		Annotations: &sdk.ToolAnnotations{DestructiveHint: new(false), OpenWorldHint: new(false)},
	}, s.whatIf)
}

type checkpointInput struct {
	Label   string `json:"label,omitempty" jsonschema:"what to call the moment"`
	Session string `json:"session,omitempty" jsonschema:"the session; by default the newest one of this folder"`
}

// between is the least time between two checkpoints.
const between = time.Second

// checkpoint appends a frame to a session.
func (s *server) checkpoint(ctx context.Context, _ *sdk.CallToolRequest, in checkpointInput) (*sdk.CallToolResult, any, error) {
	s.pinning.Lock()
	now := s.streams.Now()
	early := now.Sub(s.checked) < between && !now.Before(s.checked)
	if !early {
		s.checked = now
	}
	s.pinning.Unlock()
	if early {
		return failure(fault.New(fault.LimitExceeded, "the last checkpoint was made less than a second ago").Hint("that one has your files")), nil, nil
	}
	return s.read(ctx, line("session", "checkpoint").value("--message", in.Label).words(in.Session), ""), nil, nil
}

type restoreInput struct {
	At  string `json:"at" jsonschema:"RUN:FRAME, with the whole id of the run or @session"`
	Own bool   `json:"own,omitempty" jsonschema:"only files that the session's own calls of tools name, if others worked in the folder"`
}

// restore brings back the files of a frame.
func (s *server) restore(ctx context.Context, req *sdk.CallToolRequest, in restoreInput) (*sdk.CallToolResult, any, error) {
	ask, err := s.question(req, "restore")
	if err != nil {
		return failure(err), nil, nil
	}
	restore := line("restore").flag(in.Own, "--own")
	var plan struct {
		From, Path string
		Changes    []jjbridge.PathChange
	}
	if failed, err := s.plan(ctx, restore.flag(true, "--dry-run").words(in.At), &plan); failed != nil || err != nil {
		return failed, nil, err
	}
	ask.say("Restore the files of %s in %s?", plan.From, plan.Path)
	ask.say("%s would change:", plain.Count(len(plan.Changes), "file"))
	ask.list(len(plan.Changes), func(i int) string { return plan.Changes[i].Op + "  " + plan.Changes[i].Path })
	ask.say("Unsaved changes are kept as a frame first. No command runs.")
	if len(plan.Changes) > 0 {
		if answer := ask.confirm(plan, in.Own); answer != nil {
			return answer, nil, nil
		}
	}
	return s.read(ctx, restore.words(plan.From), ""), nil, nil
}

type whatIfInput struct {
	At     string `json:"at" jsonschema:"SESSION:FRAME or SESSION:turn:N, just before the Nth prompt; @session is the newest session"`
	Prompt string `json:"prompt,omitempty" jsonschema:"the first prompt of the new course"`
}

// whatIf makes another course of a session.
func (s *server) whatIf(ctx context.Context, req *sdk.CallToolRequest, in whatIfInput) (*sdk.CallToolResult, any, error) {
	ask, err := s.question(req, "what-if")
	if err != nil {
		return failure(err), nil, nil
	}
	var plan struct {
		From     string
		Kept, Of int
	}
	if failed, err := s.plan(ctx, line("session", "what-if", "--dry-run").words(in.At), &plan); failed != nil || err != nil {
		return failed, nil, err
	}
	setup, err := s.setup(ctx)
	if err != nil {
		return failure(err), nil, nil
	}
	dir := s.root + "-what-if-" + strings.ToLower(ask.id[:8])
	if s.root == "" {
		return failure(fault.New(fault.NoWorkingCopy, "this repository has no working copy beside which a new one could be")), nil, nil
	}
	ask.say("Take another course of the session from %s on?", plan.From)
	ask.say("The files of that frame go into a new folder: %s", filepath.Clean(dir))
	ask.say("%d of %d lines of the conversation are kept.", plan.Kept, plan.Of)
	if in.Prompt != "" {
		ask.say("The first prompt there: %s", in.Prompt)
	}
	if setup == "" {
		ask.say("No command runs.")
	} else {
		ask.say("Ignored files that .worktreeinclude names are copied, and this command runs there (%s): %s", outfit.Setting, setup)
	}
	ask.say("The agent is not started.")
	if answer := ask.confirm(plan, in.Prompt); answer != nil {
		return answer, nil, nil
	}
	return s.read(ctx, line("session", "what-if", "--no-start").value("--to", dir).words(plan.From, in.Prompt), ""), nil, nil
}

// plan runs a command that changes nothing, and decodes its document into doc. If the command fails, plan returns the result that says so.
func (s *server) plan(ctx context.Context, c command, doc any) (*sdk.CallToolResult, error) {
	c.args, c.now = append([]string{"--json"}, c.args...), s.streams.Now()
	done, err := s.run(ctx, c)
	if err != nil {
		return failure(err), nil
	}
	if done.failed() {
		var known struct {
			Code    fault.Code
			Message string
			Hints   []string
		}
		if err := json.Unmarshal(done.said, &known); err != nil {
			return failure(fault.New(fault.Internal, "%s", done.notes)), nil
		}
		err := fault.New(known.Code, "%s", known.Message)
		err.Hints = known.Hints
		return failure(err), nil
	}
	return nil, json.Unmarshal(done.raw, doc)
}

// setup returns the command that runs in new working copies, or "".
func (s *server) setup(ctx context.Context) (string, error) {
	store, err := timeline.Open(ctx, timeline.Options{Dir: s.streams.Dir, Env: s.streams.Env, Now: s.streams.Now})
	if err != nil {
		return "", err
	}
	defer store.Close() //nolint:errcheck // nothing was written
	setup, _, err := store.Repo().OwnCommand(ctx, outfit.Setting, s.streams.Env)
	return setup, timeline.Explain(err)
}
