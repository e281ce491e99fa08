package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/git-smithers/git-smithers/internal/claim"
	"github.com/git-smithers/git-smithers/internal/engine/sandbox"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// maxUndoOutput is how many bytes of the end of stderr of a command that undoes an effect are kept.
const maxUndoOutput = 4 << 10

// UndoEffects runs the commands that undo effects, the newest effect first, in opts.WorkDir, and records how each ended. The commands read
// the call as JSON on stdin, in a sandbox if that of their task was in one. An effect without a command is left alone. A command that fails stops nothing: told gets its error. Of opts,
// UndoEffects uses Now, Env, WorkDir, Grace, Hurry, Sandbox, SandboxRequired and NoHooks. The caller has the consent of a person to run the commands. The errors are those
// of recording, and of ctx.
func UndoEffects(ctx context.Context, rec Recorder, effects []snapshot.ToolCall, opts Options, told func(snapshot.ToolCall, error)) error {
	opts = opts.withDefaults()
	run := rec.Row().ID
	for _, call := range slices.Backward(effects) {
		if call.Revert == "" {
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		at := snapshot.Place{
			Collection: snapshot.CollectionToolCalls, Key: snapshot.ToolCallKey(call.NodeID, call.Iteration, call.Attempt, call.Seq), Member: "revert",
		}
		line, err := rec.Reveal(at, page.AppendString(nil, call.Revert)) // with its secrets
		if err == nil {
			err = json.Unmarshal(line, &call.Revert)
		}
		if err != nil {
			return timeline.Explain(err)
		}
		if err := setRevert(ctx, rec, call, opts, snapshot.RevertReverting, nil); err != nil {
			return err
		}
		status := snapshot.RevertReverted
		spec, err := undoSandbox(rec.Entry(), call, opts.SandboxRequired)
		if err != nil {
			return timeline.Explain(err)
		}
		failed := opts.undo(ctx, run, call, spec)
		if failed != nil {
			status = snapshot.RevertFailed
		}
		if err := setRevert(context.WithoutCancel(ctx), rec, call, opts, status, failed); err != nil {
			return err
		}
		told(call, failed)
	}
	return nil
}

// undoSandbox returns the sandbox in which the effect of a call is undone: that of the task, whose command has chosen the command to undo it. If
// the workflow has no such sandbox any more, and if a sandbox is required, it is one that allows nothing. It is nil if the task had none.
func undoSandbox(entry *snapshot.Entry, call snapshot.ToolCall, required bool) (*sandbox.Spec, error) {
	a, _, err := entry.Attempt(call.NodeID, call.Iteration, call.Attempt)
	if err != nil {
		return nil, err
	}
	if a.Sandbox == "" && !required {
		return nil, nil //nolint:nilnil // nil is no sandbox
	}
	kept, err := entry.Workflow()
	if err != nil {
		return nil, err
	}
	if kept != nil {
		id, _ := snapshot.SplitScope(call.NodeID)
		if wf, err := workflow.Stored("the run's workflow", kept.Definition); err == nil {
			for _, t := range wf.Tasks {
				if t.ID == id && t.Sandbox != nil {
					return t.Sandbox, nil
				}
			}
		}
	}
	return &sandbox.Spec{}, nil
}

// undo runs the command that undoes the effect of a call, in a sandbox unless spec is nil.
func (o *Options) undo(ctx context.Context, run string, call snapshot.ToolCall, spec *sandbox.Spec) error {
	stdin, err := jsontext.Encode(call)
	if err != nil {
		return err
	}
	stderr := &tailOutput{limit: maxUndoOutput}
	of := snapshot.Attempt{NodeID: call.NodeID, Iteration: call.Iteration, Attempt: call.Attempt}
	c := command{
		line: call.Revert, dir: o.WorkDir, env: scorerEnv(o.Env, run, of), stdin: append(stdin, '\n'),
		stdout: &tailOutput{}, stderr: stderr, grace: o.Grace, hurry: o.Hurry,
	}
	left, refused := c.confine(ctx, spec, o, claim.AttemptEnv(run, call.NodeID, call.Iteration, call.Attempt))
	defer left()
	if refused != nil {
		return errors.New(refused.text)
	}
	end, err := c.run(ctx)
	if made := c.madeRepository(nil); made != nil {
		return errors.New(made.text)
	}
	switch {
	case err != nil:
		return errors.New(whyNotStarted(err, o.WorkDir))
	case end.cut:
		return errCancelled
	case end.status == nil:
		return fmt.Errorf("ended by signal: %s", end.signal)
	case *end.status != 0:
		return fmt.Errorf("exit status %d%s", *end.status, stderr.last())
	}
	return nil
}

// setRevert records the status of undoing the effect of a call, in the row that the journal has now.
func setRevert(ctx context.Context, rec Recorder, call snapshot.ToolCall, opts Options, status string, why error) error {
	key := snapshot.ToolCallKey(call.NodeID, call.Iteration, call.Attempt, call.Seq)
	return rec.Update(ctx, func() (*snapshot.Draft, error) {
		rows, err := rec.Entry().ToolCalls()
		if err != nil {
			return nil, timeline.Explain(err)
		}
		value, found, err := rows.Get(key)
		if err != nil || !found {
			return nil, timeline.Explain(err)
		}
		now, err := snapshot.DecodeToolCall(page.Row{Key: key, Value: value})
		if err != nil {
			return nil, timeline.Explain(err)
		}
		at := opts.Now().UnixMilli()
		now.RevertStatus, now.RevertedAtMs, now.RevertError = status, nil, nil
		if status == snapshot.RevertReverted {
			now.RevertedAtMs = &at
		}
		if why != nil {
			now.RevertError, err = json.Marshal(why.Error())
		}
		return &snapshot.Draft{
			Journal: []snapshot.Change{snapshot.SetToolCall(now)}, Subject: "effect of " + call.ToolName + " " + status, AtMs: at,
		}, err
	})
}
