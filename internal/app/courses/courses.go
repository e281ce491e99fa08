// Package courses makes the courses of a group, and runs their agents without a terminal. A course is a fork of a coding agent's session, in a working
// copy of its own.
package courses

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/internal/peer/agent/hooks"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// A Maker makes the courses of a group, and runs their agents if the plan says so. Its method Call is for engine.Options.
type Maker struct {
	Store    *timeline.Store
	Group    string
	Plan     *workflow.SweepPlan // with its secrets
	Commands engine.Options      // of the agents
	Equip    func(context.Context, *files.WorkingCopy) (files.Equipped, error)
	Told     func(Made) // is called for each course, from several goroutines; may be nil
}

// Made is a course that is there.
type Made struct {
	*agent.Course

	Number   int // from 1
	Equipped files.Equipped
	Err      error // why the working copy is not equipped; nil if it is
}

// goOn is the prompt for an agent that was interrupted.
const goOn = "You were interrupted. Go on where you stopped."

// Call makes the course that a task of the group stands for, unless it is there, and runs its agent until it ends. An agent that was interrupted goes on with
// its session.
func (m *Maker) Call(ctx context.Context, c engine.Call) (engine.Called, error) {
	made, err := m.open(ctx, c)
	if err != nil {
		return engine.Called{}, err
	}
	if m.Told != nil {
		m.Told(*made)
	}
	switch {
	case !m.Plan.Start:
		return engine.Called{Status: snapshot.RunFinished}, nil
	case made.Err != nil:
		return engine.Called{}, made.Err
	}
	return m.work(ctx, c, made)
}

// open makes or finds a course, and completes its working copy.
func (m *Maker) open(ctx context.Context, c engine.Call) (*Made, error) {
	made := &Made{Number: workflow.VariantOf(c.Caller.NodeID)}
	head, err := m.Store.Head(ctx, c.RunID)
	switch {
	case fault.CodeOf(err) == fault.RunNotFound:
		made.Course, err = m.make(ctx, c)
	case err == nil:
		made.Course, err = m.find(ctx, head)
	}
	if err != nil {
		return nil, err
	}
	if made.Equipped, err = m.Equip(ctx, made.Files); err != nil {
		made.Err = err
	}
	if speaks, ok := dialect.Of(made.Agent); ok && made.Recorded { // the settings of a stranger's session may lead elsewhere
		if err := hooks.Follow(m.Store, made.Dir, speaks); err != nil {
			m.Store.Warn(fmt.Errorf("the course %s is not recorded: %w", made.Run, err))
		}
	}
	return made, ctx.Err()
}

// make makes a course. What an earlier attempt has left is removed: its agent did not begin.
func (m *Maker) make(ctx context.Context, c engine.Call) (*agent.Course, error) {
	if err := files.DropCheckouts(ctx, m.Store, c.RunID); err != nil {
		m.Store.Warn(err)
	}
	prompt, err := promptOf(c.Input)
	if err != nil {
		return nil, err
	}
	return agent.WhatIf{From: m.Plan.From, Run: c.RunID, Prompt: prompt, Try: c.Caller.Attempt - 1, Env: m.Commands.Env}.Make(ctx, m.Store)
}

// find returns a course that was made before.
func (m *Maker) find(ctx context.Context, head *timeline.Head) (*agent.Course, error) {
	run := head.Row().ID
	opened, err := files.CheckoutOf(ctx, m.Store, run)
	if err == nil && opened == nil {
		err = fault.New(fault.NoWorkingCopy, "the working copy of the course %s is gone", run).
			Hint("`%s` makes another one", fault.CommandLine(fault.Program, "session", "what-if", run))
	}
	if err != nil {
		return nil, err
	}
	name, seat, err := agent.SeatOf(head.Entry())
	return &agent.Course{
		Agent: name, Run: run, Session: seat.Session, Dir: opened.Root(), Files: opened, Recorded: agent.IsRecordedHere(m.Store, run),
	}, err
}

// promptOf returns the prompt in the input of a course.
func promptOf(input json.RawMessage) (string, error) {
	var variant struct{ Prompt string }
	if err := json.Unmarshal(input, &variant); err != nil {
		return "", fault.New(fault.InvalidInput, "the input of a course: %w", err)
	}
	return variant.Prompt, nil
}

// work runs the agent of a course.
func (m *Maker) work(ctx context.Context, c engine.Call, made *Made) (out engine.Called, err error) {
	head, err := m.Store.Head(ctx, made.Run)
	if err != nil {
		return out, err
	}
	text, err := promptOf(c.Input)
	if err != nil {
		return out, err
	}
	name, seat, err := agent.SeatOf(head.Entry())
	if err != nil {
		return out, timeline.Explain(err)
	}
	if seat.Heard = head.Row().Frame > 0; seat.Heard {
		text = goOn
	}
	words, env, err := m.command(name, seat)
	if err != nil {
		return out, err
	}
	log, err := m.openLog(made.Number)
	if err != nil {
		return out, timeline.Explain(err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	opts := m.Commands
	opts.Env = env
	status, err := engine.Program{
		Run: m.Group, Of: snapshot.Attempt{NodeID: c.Caller.NodeID, Iteration: c.Caller.Iteration, Attempt: c.Caller.Attempt},
		Words: words, Dir: made.Dir, Stdin: []byte(text), Output: log,
	}.Execute(ctx, opts)
	if err != nil {
		return out, err
	}
	if err := head.Refresh(context.WithoutCancel(ctx)); err != nil {
		return out, err
	}
	switch out.Status = snapshot.RunFailed; {
	case status != 0:
		out.Trouble = fmt.Errorf("exit status %d%s", status, lastLine(log))
	case head.Row().Frame == 0:
		out.Trouble = errors.New("no hook of the agent was heard, so its work was not recorded")
		if speaks := dialect.For(made.Agent); speaks.Hooks != nil && speaks.Hooks.Trust != "" {
			out.Trouble = fmt.Errorf("%w: %s", out.Trouble, speaks.Hooks.Trust)
		}
	default:
		out.Status = snapshot.RunFinished
	}
	return out, nil
}

// command returns the words of the command that runs an agent, and its environment: without the variable by which the agent knows that it runs in itself.
func (m *Maker) command(name string, seat dialect.Seat) (words, env []string, err error) {
	speaks := dialect.For(name)
	if speaks.Headless == nil {
		return nil, nil, NotHeadless(name)
	}
	seat.Flags, seat.Env = m.Plan.Flags, m.Commands.Env
	env = slices.DeleteFunc(slices.Clone(seat.Env), func(one string) bool {
		return speaks.Variable != "" && strings.HasPrefix(one, speaks.Variable+"=")
	})
	words, err = speaks.Headless(seat)
	return words, env, err
}

// NotHeadless returns the error for an agent that is not known to work without a terminal.
func NotHeadless(name string) error {
	return fault.New(fault.Usage, "git-smithers does not know how the agent %q works without a terminal", name).
		Hint("without --run, what-if prints the command that starts the agent of each course")
}

// LogPath returns the path of the file with what the agent of a course has printed.
func LogPath(s *timeline.Store, group string, number int) (string, error) {
	component, err := refs.EscapeRun(group)
	return filepath.Join(s.Private(), "courses", component, workflow.VariantTask(number)+".log"), err
}

// openLog opens the file with what the agent of a course prints. An agent that goes on adds to it.
func (m *Maker) openLog(number int) (*os.File, error) {
	path, err := LogPath(m.Store, m.Group, number)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
}

// The bounds of what is read of a log for an error, in bytes.
const (
	logEnd    = 4 << 10
	lineShown = 200
)

// lastLine returns ": " and the last line of a log that is not blank, or "".
func lastLine(log *os.File) string {
	size, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return ""
	}
	data := make([]byte, min(size, logEnd))
	if _, err := log.ReadAt(data, size-int64(len(data))); err != nil && !errors.Is(err, io.EOF) {
		return ""
	}
	for _, line := range slices.Backward(plain.Lines(string(data))) {
		if line = strings.TrimSpace(line); line != "" {
			return ": " + plain.Cut(line, lineShown)
		}
	}
	return ""
}
