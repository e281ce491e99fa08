package langgraph

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// The positions of the writes to special channels.
const (
	errorIdx     = -1
	interruptIdx = -3
	resumeIdx    = -4
)

// PutWrites stores the writes of a task for a checkpoint, which need not be there yet. Writes that are stored already stay
// as they are, except those at negative positions. If the thread was deleted, the writes come too late and are dropped.
// Codes: invalid_input, invalid_run_id, limit_exceeded and those of a write.
func (t *Threads) PutWrites(ctx context.Context, id string, key Key, writes []Write, files bool) error {
	if key.ID == "" {
		return errNoCheckpoint()
	}
	return t.use(ctx, id, func(th *thread) error {
		capture := putter{thread: th, put: Put{Files: files}}
		defer capture.close()
		_, err := th.update(ctx, func() (*snapshot.Draft, error) {
			draft, err := th.draftWrites(ctx, key, writes, th.threads.store.Now().UnixMilli())
			if err != nil || draft == nil {
				return nil, err
			}
			return draft, capture.addFiles(ctx, draft)
		})
		return err
	})
}

// errNoCheckpoint returns the error about writes without the id of a checkpoint.
func errNoCheckpoint() error { return fault.New(fault.InvalidInput, "the writes name no checkpoint") }

// draftWrites returns the draft of the entry that adds writes to those of a checkpoint, or nil if there is nothing to add.
// The entry is a frame only if the thread begins with it. atMs is the time of the writes.
func (th *thread) draftWrites(ctx context.Context, key Key, writes []Write, atMs int64) (*snapshot.Draft, error) {
	if th.head == nil {
		if pruned, err := th.pruned(ctx); err != nil || pruned {
			return nil, err
		}
	}
	all, err := th.book.pending(key)
	if err != nil {
		return nil, err
	}
	if !all.add(writes) {
		return nil, nil //nolint:nilnil // the thread has the writes
	}
	file, err := th.writesFile([]pending{all})
	if err != nil {
		return nil, err
	}
	draft := &snapshot.Draft{
		AtMs: atMs, Subject: writesSubject(writes),
		Ext: &snapshot.ExtDraft{Engine: EngineName, Files: map[string][]byte{writesFile: file}},
	}
	if latest := th.book.latest(""); latest != nil && latest.key() == key {
		draft.Run = statusAfter(all, draft.AtMs)
	}
	return draft, th.mail(draft, key, writes, all)
}

// writesFile returns the content of the file "writes" for the writes of checkpoints. A file counts only if it differs from the file of the
// entry before. A task that runs again, after a reset or in a fork, may write the same, so the file then ends with another newline.
func (th *thread) writesFile(all []pending) ([]byte, error) {
	file := encodeWrites(all)
	if th.head == nil || !th.book.history.again {
		return file, nil
	}
	before, err := th.head.Entry().ExtFile(EngineName, writesFile)
	if err == nil && bytes.Equal(before, file) {
		file = append(file, '\n')
	}
	return file, err
}

// writesSubject returns the subject of the entry with the writes.
func writesSubject(writes []Write) string {
	for _, w := range writes {
		switch w.Idx {
		case interruptIdx:
			return "interrupt"
		case errorIdx:
			return "error: " + errorText(w.Value)
		case resumeIdx:
			return "resume"
		}
	}
	if len(writes) == 1 {
		return "write " + writes[0].Channel
	}
	return fmt.Sprintf("%d writes", len(writes))
}

// errorText returns the message of an error that the client's serializer has made, as far as it can be read.
func errorText(v Value) string {
	var e struct {
		Message string `json:"message"`
	}
	if v.Type == typeJSON && json.Unmarshal(v.Data, &e) == nil && e.Message != "" {
		return e.Message
	}
	return "the task failed"
}

// statusAfter returns the edit of the run's row after the writes of the newest checkpoint: the run waits for a person if a
// task was interrupted and not resumed, and has failed if a task has failed. It returns nil if the writes say neither.
func statusAfter(all pending, atMs int64) func(*snapshot.Run) {
	waits, failed, text := false, false, ""
	for _, w := range all.Writes {
		switch {
		case w.Idx == errorIdx:
			failed, text = true, errorText(w.Value)
		case w.Idx == interruptIdx && !all.has(w.Task, resumeIdx):
			waits = true
		}
	}
	switch {
	case failed:
		return func(row *snapshot.Run) { row.Status, row.Error, row.FinishedAtMs = snapshot.RunFailed, text, &atMs }
	case waits:
		return func(row *snapshot.Run) { row.Status, row.FinishedAtMs = snapshot.RunWaitingHuman, nil }
	}
	return nil
}

// has reports whether a task has a write at a position.
func (p pending) has(task string, idx int) bool {
	return slices.ContainsFunc(p.Writes, func(w Write) bool { return w.Task == task && w.Idx == idx })
}
