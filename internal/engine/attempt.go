package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strconv"

	"github.com/git-smithers/git-smithers/internal/engine/schema"
	"github.com/git-smithers/git-smithers/internal/engine/trace"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Reasons for a failed attempt. The journal stores "code: reason".
const (
	reasonExit        = "exit_status"
	reasonSignal      = "signal"
	reasonTimeout     = "timeout"
	reasonOutput      = "invalid_output"
	reasonMissing     = "missing_command"
	reasonNotStarted  = "not_started"
	reasonCancelled   = "cancelled"
	reasonInterrupted = "interrupted"
	reasonCondition   = "condition"
	reasonWorktree    = "worktree"
	reasonGate        = "gate"
	reasonSandbox     = "sandbox"
	reasonCall        = "call"

	// Reasons for attempts that waited.
	reasonTemplate         = "template"
	reasonDenied           = "denied"
	reasonRequestCancelled = "request_cancelled"
)

// reason is the cause of an attempt's failure: a stable code and a text for people.
type reason struct{ code, text string }

// String returns the reason's code and text, as the journal stores them.
func (r *reason) String() string { return r.code + ": " + r.text }

// taskContext is the JSON that a command reads on stdin. docs/workflow-reference.md describes its members.
type taskContext struct {
	Run           string                     `json:"run"`
	Node          string                     `json:"node"`
	Iteration     int                        `json:"iteration"`
	Attempt       int                        `json:"attempt"`
	Loop          string                     `json:"loop,omitempty"`
	PreviousError *string                    `json:"previousError"`
	Input         json.RawMessage            `json:"input"`
	Outputs       map[string]json.RawMessage `json:"outputs"`
	Needs         map[string]json.RawMessage `json:"needs"`
	Previous      map[string]json.RawMessage `json:"previous,omitempty"`
	Failed        []string                   `json:"failed,omitempty"`
}

// job is one attempt that a worker can execute. It shares no memory with the run's state.
type job struct {
	key     workflow.NodeKey
	task    *workflow.Task
	attempt int
	stdin   []byte
	schema  *schema.Schema // of the output; nil if the task has no output table
	opts    *Options
	runID   string
	live    *liveLog
	dir     string          // the folder to run in
	opener  *worktreeOpener // opens the worktree to run in; nil means dir

	input       json.RawMessage // of the run, for scorers
	startedAtMs int64           // when the attempt began

	span  string  // of the attempt, as a traceparent; "" if the run has no trace
	call  *Call   // the run to make or continue; nil for a command
	unfit *reason // why the called run has no input; nil if it has one

	lookup *lookup // the search for a result of an equal task; nil if the task has no cache

	calls    *callReport // the tool calls that the command reports; nil if it cannot report any
	callFile string      // where it reports them; "" if it cannot
	uncalled error       // why it cannot, although Options.Logs is set

	signals *os.File // from which the command reads signals; nil if it has none
}

// outcome is the result of a job.
type outcome struct {
	job *job
	ending

	opened   WorkingCopy // the task's own worktree, if this attempt opened it
	trouble  error       // the error of opening the worktree, or nil
	unlogged error       // the error of writing the live log, or nil
	unnoted  error       // the error of recording the command's process group, or nil
	uncalled error       // the error of reading the reported tool calls, or nil
	uncached error       // the error of using the cache, or nil
	unused   error       // why the command's usage is left out, or why it has no file for it, or nil
	scores   []scored    // of the scorers with a gate

	waits      string             // what the called run waits for, for people; "" if it has ended or there is none
	waitStatus snapshot.RunStatus // of the called run that waits
	waitHints  []string           // how people end its waits
}

// Causes of the end of an attempt's context.
var (
	errCancelled = errors.New("cancelled")
	errTimeout   = errors.New("timeout")
	errTooMuch   = errors.New("too much output")
)

// execute opens the attempt's worktree if j.opener is set, runs the command and then the scorers with a gate, and returns the outcome. If
// the cache has the result of an equal task, execute runs no command, but the scorers. If the worktree
// cannot be opened, execute runs no command, and the attempt is failed or cancelled. To cancel the attempt, the
// caller ends ctx with the cause errCancelled.
func (j *job) execute(ctx context.Context) outcome {
	if j.call != nil {
		return j.callWorkflow(ctx)
	}
	defer j.signals.Close() //nolint:errcheck // each line was written at once; the end of the attempt removes the file
	if j.opener == nil {
		return j.gated(ctx, j.cachedOr(ctx, j.command))
	}
	opened, err := j.opener.run(ctx)
	switch {
	case err == nil:
		j.dir = opened.Root()
		j.lookup.began(ctx, opened)
		out := j.gated(ctx, j.cachedOr(ctx, j.command))
		out.opened = opened
		return out
	case errors.Is(context.Cause(ctx), errCancelled):
		return outcome{job: j, ending: ending{failed: &reason{reasonCancelled, "the run was cancelled before the command started"}}}
	default: // the journal must not name a path of this machine, but the error may name one
		return outcome{job: j, ending: ending{failed: &reason{reasonWorktree, "the worktree could not be opened"}}, trouble: err}
	}
}

// command runs the attempt's command in j.dir and returns the outcome. The outcome also has the errors of writing the
// live log and of recording the process group, which do not fail the attempt. The task's timeout begins with the
// call, so the timeout does not include the time to open a worktree.
func (j *job) command(ctx context.Context) outcome {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ctx, over := j.limited(ctx)
	defer over()
	log, unlogged := j.openLog()
	name := j.key.Name(j.task)
	live, spoken := j.live.stream(name), j.live.stream(name) // of stderr and of stdout
	stdout := &boundedOutput{limit: j.opts.MaxOutput, over: func() { stop(errTooMuch) }}
	files, unmade := j.newResultFiles()
	defer files.remove()
	given := j.colourEnv()
	given = append(given, taskEnv(nil, j.task, j.runID, j.key, j.attempt, j.callFile, files)...)
	given = append(given, j.signalsEnv())
	if j.span != "" {
		given = append(given, trace.Parent+"="+j.span)
	}
	c := command{
		line:   j.task.ShellLine(),
		dir:    j.dir,
		env:    append(withoutRepository(j.opts.Env), given...),
		stdin:  j.stdin,
		stdout: io.MultiWriter(streamLog{log, stdoutStream}, stdout),
		stderr: io.MultiWriter(streamLog{log, stderrStream}, live),
		grace:  j.opts.Grace,
		hurry:  j.opts.Hurry,
	}
	var unnoted error
	read := j.calls.begin()
	if commands := j.opts.Commands; commands != nil {
		key := snapshot.AttemptKey(j.key.ID, j.key.Iteration, j.attempt)
		c.began = func(leader int) { unnoted = commands.Began(key, leader) }
		defer commands.Ended(key)
	}
	if j.schema == nil { // stdout does not become the output, so its size is not limited
		c.stdout = io.MultiWriter(streamLog{log, stdoutStream}, spoken)
	}
	left, refused := c.confine(ctx, j.task.Sandbox, j.opts, given)
	defer left()
	if refused != nil {
		return outcome{job: j, ending: ending{failed: refused}, unlogged: errors.Join(unlogged, log.close()), uncalled: errors.Join(j.uncalled, read())}
	}
	end, err := c.run(ctx)
	live.flush()
	if j.schema == nil {
		spoken.flush()
	}
	out := outcome{job: j, ending: ending{status: end.status}, unlogged: errors.Join(unlogged, log.close()), unnoted: unnoted}
	out.uncalled = errors.Join(j.uncalled, read())
	result, from := files.result(j.opts.MaxOutput), outputVariable
	inFile := len(bytes.TrimSpace(result)) > 0
	if !inFile {
		result, from = stdout.data, "stdout"
	}
	out.output, out.failed = j.judge(end, err, context.Cause(ctx), result, from)
	if out.log = j.logOf(log, inFile, out.failed); j.schema != nil && (inFile || out.failed != nil) { // stdout is not the output
		log.printTo(spoken, stdoutStream)
	}
	var unused error
	out.usage, unused = files.used()
	out.unused = errors.Join(unmade, unused)
	c.whyClosed(out.failed, out.log)
	if failed := c.madeRepository(out.failed); failed != out.failed {
		out.output, out.failed = nil, failed
	}
	return out
}

// limited returns a context that ends with the cause errTimeout after the timeout of the task, if it has one. The caller calls over in the end.
func (j *job) limited(ctx context.Context) (_ context.Context, over context.CancelFunc) {
	if j.task.Timeout == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, j.task.Timeout, errTimeout)
}

// logOf returns the text of the attempt's log: both streams, or only stderr if stdout became the output, which the
// state stores. inFile means that the output came from a file. failed is the reason for a failed attempt, or nil.
func (j *job) logOf(log *attemptLog, inFile bool, failed *reason) string {
	if j.schema != nil && !inFile && failed == nil {
		return log.text(stderrStream)
	}
	return log.text(stdoutStream, stderrStream)
}

// judge returns the output of a finished attempt, or the reason why the attempt failed or was cancelled. Both results
// are nil if the attempt finished and the task has no output table. If this process ended the command early, the
// attempt is failed or cancelled, whatever the command's exit status.
//
// end and startErr are the results of command.run. cause is the cause of the end of the attempt's context. result is
// the command's output, and from where it was written to, for people.
func (j *job) judge(end exit, startErr, cause error, result []byte, from string) (json.RawMessage, *reason) {
	// A cause counts only if it cut the command short, because the context may also end after the command.
	switch {
	case errors.Is(startErr, exec.ErrNotFound):
		return nil, &reason{reasonMissing, "sh not found"}
	case startErr != nil && errors.Is(cause, errCancelled):
		return nil, &reason{reasonCancelled, "the run was cancelled before the command started"}
	case end.cut && errors.Is(cause, errTooMuch):
		return nil, &reason{reasonOutput, fmt.Sprintf("stdout is larger than %d bytes", j.opts.MaxOutput)}
	case errors.Is(cause, errTimeout) && (end.cut || startErr != nil):
		return nil, &reason{reasonTimeout, "no result within " + j.task.Timeout.String()}
	case startErr != nil:
		return nil, &reason{reasonNotStarted, whyNotStarted(startErr, j.dir)}
	case end.cut:
		return nil, &reason{reasonCancelled, "the run was cancelled"}
	case end.status == nil:
		return nil, &reason{reasonSignal, "ended by signal: " + end.signal}
	case *end.status == 127:
		return nil, &reason{reasonMissing, "command not found (exit status 127)"}
	case *end.status != 0:
		return nil, &reason{reasonExit, "exit status " + strconv.Itoa(*end.status)}
	case j.schema == nil:
		return nil, nil
	case int64(len(result)) > j.opts.MaxOutput:
		return nil, &reason{reasonOutput, fmt.Sprintf("%s is larger than %d bytes", from, j.opts.MaxOutput)}
	}
	output, err := j.schema.CheckOutput(j.task.Output, result)
	if err != nil {
		return nil, &reason{reasonOutput, err.Error()}
	}
	return output, nil
}

// whyNotStarted returns the text of err, the error of starting a command in dir. The text has no paths, because the
// journal must not name a path of this machine. It begins with "the command's folder: " if dir cannot be read, and
// otherwise with "sh: ".
func whyNotStarted(err error, dir string) string {
	what := "sh"
	if dir != "" {
		if _, statErr := os.Stat(dir); statErr != nil {
			what, err = "the command's folder", statErr
		}
	}
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err
	}
	return what + ": " + err.Error()
}

// boundedOutput keeps the written bytes, up to one byte above its limit. It calls over once, when the limit is exceeded.
// It must be used by one goroutine at a time.
type boundedOutput struct {
	limit int64 // in bytes
	data  []byte
	over  func()
}

// Write adds p to b.data, up to one byte above the limit in total, and drops the rest of p. It calls b.over if p is
// the first to exceed the limit. It always returns len(p) and nil.
func (b *boundedOutput) Write(p []byte) (int, error) {
	room := b.limit + 1 - int64(len(b.data))
	if int64(len(p)) >= room && room > 0 {
		b.over()
	}
	b.data = append(b.data, p[:max(0, min(int64(len(p)), room))]...)
	return len(p), nil
}
