package search

import (
	"context"
	"crypto/sha256"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// document is a text at the entry that first has it.
type document struct {
	kind      Kind
	part, key string // of a file: the task whose own worktree has it, and its path
	hash      []byte // of a file: its id
	text      string // of a file: "", because most files are known
	// began means that the run began with the file: it is found only if no other run has it.
	began bool
}

// hashSize is the length of the hash of a text that is no file.
const hashSize = 16

// entryReader finds the texts that an entry has and the one before it had not.
type entryReader struct {
	objects objstore.Reader
	speaks  *dialect.Dialect
	began   objstore.ID // a tree whose files are all in the index
	add     func(document) error
}

// read calls r.add with the texts of an entry that before has not. before is nil if the entry is the first.
func (r *entryReader) read(ctx context.Context, before, e *snapshot.Entry) error {
	for _, p := range parts() {
		if err := r.rows(before, e, p); err != nil {
			return err
		}
	}
	if err := r.state(before, e); err != nil {
		return err
	}
	events, err := e.Events()
	if err != nil {
		return err
	}
	if err := r.text(Events, eventsPart, "", eventsText(events)); err != nil {
		return err
	}
	return r.files(ctx, before, e)
}

// text adds a text that is no file, unless it is empty.
func (r *entryReader) text(kind Kind, part, key, text string) error {
	if text = bounded(text); strings.TrimSpace(text) == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(text))
	return r.add(document{kind: kind, part: part, key: key, hash: sum[:hashSize], text: text})
}

// rows adds the texts of the new and the changed rows of a collection.
func (r *entryReader) rows(before, e *snapshot.Entry, p part) error {
	is, err := e.Rows(p.name)
	if err != nil {
		return err
	}
	was, err := page.Open(r.objects, objstore.ID{})
	if err == nil && before != nil {
		was, err = before.Rows(p.name)
	}
	if err != nil || was.ID() == is.ID() {
		return err
	}
	return r.changed(was, is, p)
}

// changed adds the texts of the rows that differ.
func (r *entryReader) changed(was, is *page.Collection, p part) error {
	for delta, err := range page.Diff(was, is) {
		if err != nil {
			return err
		}
		if delta.To == nil {
			continue
		}
		text, err := p.text(page.Row{Key: delta.Key, Value: delta.To}, r.speaks)
		if err != nil {
			return err
		}
		if err := r.text(p.kind, p.name, delta.Key, text); err != nil {
			return err
		}
	}
	return nil
}

// state adds the outputs and the input.
func (r *entryReader) state(before, e *snapshot.Entry) error {
	is, err := e.State()
	if err != nil {
		return err
	}
	was := snapshot.EmptyState()
	if before != nil {
		if was, err = before.State(); err != nil {
			return err
		}
	}
	if was.ID() == is.ID() {
		return nil
	}
	for _, table := range is.Tables() {
		name := snapshot.OutputCollection(table)
		p := part{Outputs, name, outputText(name)}
		if name == promptsTable {
			p.kind = Prompts
		}
		if err := r.changed(was.Outputs(table), is.Outputs(table), p); err != nil {
			return err
		}
	}
	if was.InputID() == is.InputID() {
		return nil
	}
	input, err := is.Input()
	if err != nil {
		return err
	}
	return r.text(Prompts, inputPart, "", flat(input))
}

// files adds the files that differ from those before, by the working copies that have them.
func (r *entryReader) files(ctx context.Context, before, e *snapshot.Entry) error {
	id, err := e.VCSID()
	if err != nil || id.IsZero() {
		return err
	}
	was := make(map[string]objstore.ID)
	var old *snapshot.VCS
	if before != nil {
		same, err := before.VCSID()
		if err != nil || same == id {
			return err
		}
		if old, err = before.VCSRevision(); err != nil {
			return err
		}
		if old != nil {
			was = files.TreesOf(old)
		}
	}
	now, err := e.VCSRevision()
	if err != nil {
		return err
	}
	is := files.TreesOf(now)
	for _, task := range slices.Sorted(maps.Keys(is)) {
		from, had := was[task]
		began := !had && task == ""
		switch {
		case began:
			from = r.began
		case !had && old != nil:
			from = files.WorktreeStart(r.objects, old, files.WorktreeOf(now, task))
		}
		if err := r.tree(ctx, task, from, is[task], began); err != nil {
			return err
		}
	}
	return nil
}

// tree adds the files of a tree that differ from those of another one. Trees that are not there, or are too large, are left out: other commands tell of
// them.
func (r *entryReader) tree(ctx context.Context, task string, from, to objstore.ID, began bool) error {
	edits, err := jjbridge.FileEdits(ctx, r.objects, from, to, "")
	if began && errors.Is(err, objstore.ErrNotFound) && !from.IsZero() {
		edits, err = jjbridge.FileEdits(ctx, r.objects, objstore.ID{}, to, "")
	}
	if err != nil {
		if isAbsent(err) {
			return nil
		}
		return err
	}
	for _, edit := range edits {
		if edit.Now.Mode != objstore.ModeFile && edit.Now.Mode != objstore.ModeExecutable || edit.Now.ID == edit.Was.ID {
			continue
		}
		if err := r.add(document{kind: Code, part: task, key: edit.Path, hash: edit.Now.ID.Bytes(), began: began}); err != nil {
			return err
		}
	}
	if began {
		r.began = to
	}
	return nil
}

// isAbsent reports whether an error means that an object of a file is missing, damaged or too large.
func isAbsent(err error) bool {
	return errors.Is(err, objstore.ErrNotFound) || errors.Is(err, objstore.ErrCorrupt) || errors.Is(err, objstore.ErrTreeSize)
}

// readFile returns the text of a file, or "" if it is binary, too large or missing.
func readFile(objects objstore.Reader, id objstore.ID) (string, error) {
	data, err := objstore.GetBlob(objects, id, maxFile)
	if err != nil {
		if isAbsent(err) {
			return "", nil
		}
		return "", err
	}
	text, _ := fileText(data)
	return text, nil
}
