package agent

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// importJob makes the frames of one imported session. Lines come before the frame that has them: the next prompt, or the end.
type importJob struct {
	queue    queue[string]
	store    *timeline.Store
	speaks   *dialect.Dialect
	shown    string
	session  string // "" while it is unknown
	fileName string // the session in the name of the file, if no line names one; may be ""
	end      int64  // the size of the file
	atMs     int64  // the time of the newest line
	fileTime bool   // atMs is the time of the file
	out      Imported

	understood bool             // a line says something that only the agent writes
	held       []dialect.Line   // the lines without rows
	heldBytes  int              // their size
	series     *timeline.Series // nil before the first prompt
	origin     *origin          // from which the agent has forked the session; nil if it is not recorded here
	book       redactor
	d          drafter

	open      bool   // a turn was begun
	prompt    string // of the open turn; "" before the first prompt
	promptID  string // of the message with the prompt; "" if unknown
	model     string // that answers; "" if unknown
	answer    string // the model's last words in the open turn; "" if it has called a tool since
	startedMs int64  // of the open turn
}

// redactor takes secrets out of texts, and keeps them. Sync puts them on stable storage.
type redactor interface {
	snapshot.Redactor
	Sync() error
}

// tick sets the time of the newest line. The time never goes back. Before the first line with a time, it is that of the file.
func (j *importJob) tick(line dialect.Line) {
	if line.AtMs > j.atMs || j.fileTime && line.AtMs > 0 {
		j.atMs, j.fileTime = line.AtMs, false
	}
	j.d.atMs = j.atMs
}

// hold keeps a line for the next frame.
func (j *importJob) hold(line dialect.Line) {
	j.tick(line)
	j.model = cmp.Or(line.Model, j.model)
	j.held, j.heldBytes = append(j.held, line), j.heldBytes+len(line.Text)
}

// keep keeps a line for the next frame, and takes in what it says.
func (j *importJob) keep(line dialect.Line) error {
	if j.hold(line); j.series == nil {
		return nil
	}
	if err := j.d.takeLine(j.session, line); err != nil {
		return err
	}
	read := j.d.mem.Read[j.session]
	j.d.mem.spend(&read, line)
	j.d.mem.setRead(j.session, read)
	if !line.Aside {
		for _, said := range line.Said {
			if said.Role == dialect.Assistant {
				j.answer = said.Text
			}
		}
		if len(line.Begun) > 0 {
			j.answer = ""
		}
	}
	if j.heldBytes > heldLines {
		j.flush()
	}
	return nil
}

// flush makes rows of the lines that are held.
func (j *importJob) flush() {
	for _, row := range transcriptRows(j.session, j.held, nil) {
		j.d.out.Journal = append(j.d.out.Journal, snapshot.SetRow(snapshot.CollectionTranscript, row))
	}
	j.held, j.heldBytes = nil, 0
}

// beginTurn ends the open turn, and makes the frame of a prompt. The line of the prompt itself belongs to the next frame, as if a hook had
// told of the prompt.
func (j *importJob) beginTurn(ctx context.Context, line dialect.Line, prompt string) error {
	j.tick(line)
	if j.series == nil {
		if err := j.startRun(ctx); err != nil {
			return err
		}
	}
	if err := j.endTurn(); err != nil {
		return err
	}
	j.d.mem.beginTurn()
	j.prompt, j.promptID, j.answer, j.startedMs = strings.ToValidUTF8(prompt, "\uFFFD"), messageOf(line), "", j.atMs
	d := &j.d
	d.mem.Failed, d.notices = false, nil
	d.out.Frame.IDs = []string{TurnID(d.mem.Turn)}
	d.out.Subject = fmt.Sprintf("turn %d: %s", d.mem.Turn, j.prompt)
	if err := d.output(promptsTable, map[string]string{"prompt": j.prompt}); err != nil {
		return err
	}
	return j.openTurn(ctx, line)
}

// beginMiddle begins the run with turn 0: the file begins in the middle of a session, or with a summary, and the model goes on before it has a
// prompt.
func (j *importJob) beginMiddle(ctx context.Context, line dialect.Line) error {
	j.tick(line)
	if err := j.startRun(ctx); err != nil {
		return err
	}
	j.startedMs, j.d.out.Subject = j.atMs, "the session goes on from before"
	return j.openTurn(ctx, line)
}

// openTurn makes the first frame of a turn, which begins with a line.
func (j *importJob) openTurn(ctx context.Context, line dialect.Line) error {
	j.open = true
	j.d.node(snapshot.NodeInProgress)
	j.d.attempt(snapshot.Attempt{State: snapshot.AttemptInProgress, StartedAtMs: j.atMs})
	read := j.d.mem.Read[j.session]
	read.Offset, read.Model = line.Offset, j.model
	j.d.mem.setRead(j.session, read)
	return j.append(ctx)
}

// endTurn sets the rows of the open turn, if there is one. The turn is finished if the model has had the last word.
func (j *importJob) endTurn() error {
	d := &j.d
	if !j.open {
		return nil
	}
	state, row := snapshot.NodeCancelled, map[string]string{"prompt": j.prompt}
	switch {
	case d.mem.Failed:
		state = snapshot.NodeFailed
	case j.answer != "":
		state, row["answer"] = snapshot.NodeFinished, strings.ToValidUTF8(j.answer, "\uFFFD")
	}
	at := j.atMs
	d.node(state)
	d.attempt(snapshot.Attempt{State: string(state), StartedAtMs: j.startedMs, FinishedAtMs: &at})
	if d.mem.Turn > 0 {
		if err := d.output(promptsTable, row); err != nil {
			return err
		}
	}
	if d.mem.Usage != (dialect.Usage{}) {
		if err := d.output(usageTable, usageRow{d.mem.Usage, d.mem.Models}); err != nil {
			return err
		}
	}
	todos := d.todos
	if d.todos = nil; todos == nil {
		return nil
	}
	return d.output(todosTable, todos)
}

// finish makes the last frame, and the run with all of its frames. The error is invalid_input if no line was a prompt.
func (j *importJob) finish(ctx context.Context) error {
	if j.series == nil {
		return j.refuseOther()
	}
	if err := j.endTurn(); err != nil {
		return err
	}
	j.d.out.Subject = "session ended"
	j.d.status(snapshot.RunFinished)
	j.d.mem.setRead(j.session, readTo{Offset: j.end, Message: j.d.mem.Read[j.session].Message})
	if err := j.append(ctx); err != nil {
		return err
	}
	if err := j.book.Sync(); err != nil { // the secrets before the history without them
		return timeline.Explain(err)
	}
	j.out.Turns = j.d.mem.Turn
	_, err := j.series.Commit(ctx)
	return explainExists(j.out.Run, err)
}

// append adds the frame that is drafted, and begins the next draft.
func (j *importJob) append(ctx context.Context) (err error) {
	j.flush()
	d := &j.d
	for _, key := range slices.Sorted(maps.Keys(d.calls)) {
		call := d.calls[key]
		d.out.Journal = append(d.out.Journal, snapshot.SetToolCall(call))
		if call.FinishedAtMs != nil {
			d.addID(call.CallToken)
			delete(d.calls, key) // an open call is kept: its row is changed by its result
		}
	}
	if d.out.Ext, err = d.mem.draft(); err != nil {
		return err
	}
	d.out.AtMs, d.out.Redactor = j.atMs, j.book
	if _, err := j.series.Append(ctx, d.out); err != nil {
		return err
	}
	j.out.Frames++
	d.out = snapshot.Draft{Frame: new(snapshot.FrameDraft)}
	return nil
}
