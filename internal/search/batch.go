package search

import (
	"cmp"
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

// batchBytes and batchEntries bound what one transaction writes: other processes wait for it.
const (
	batchBytes   = 2 << 20
	batchEntries = 500
)

// The parts of an entry with texts that are no collections.
const (
	inputPart  = "input"
	eventsPart = "events"
)

// document is a text at an entry.
type document struct {
	kind      Kind
	part, key string // of a file: the task whose own worktree has it, and its path
	hash      []byte // of a file: its id
	text      string
	began     bool // the run began with the file: it is found only if no other run has it

	entry     objstore.ID
	frame, at int64
}

// batch collects the texts of some entries of one run, and writes them in one transaction. A batch that was written is empty, and goes on.
type batch struct {
	*Index

	speaks   *dialect.Dialect
	ref, run string
	tip      objstore.ID // the indexed entry of the run
	next     objstore.ID // the last entry of which the batch has all texts; zero for none
	began    objstore.ID // a tree whose files are all in the index or in the batch; zero for none

	at      document // the place of the next documents
	docs    []document
	size    int // of the texts
	entries int
}

// entry takes in the texts that an entry has and the one before has not. before is nil if e is the first. frame is the number of the entry, or of the
// newest frame before it.
func (b *batch) entry(ctx context.Context, before, e *snapshot.Entry, frame int64) error {
	b.at = document{entry: e.ID, frame: frame, at: e.AtMs}
	b.entries++
	was, old, err := rowsOf(before)
	if err != nil {
		return err
	}
	is, state, err := rowsOf(e)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if err := b.rows(ctx, name, cmp.Or(was[name], none()), is[name]); err != nil {
			return err
		}
	}
	if old.InputID() != state.InputID() {
		input, err := state.Input()
		if err != nil {
			return err
		}
		if err := b.text(ctx, Prompts, inputPart, "", flat(input)); err != nil {
			return err
		}
	}
	events, err := e.Events()
	if err == nil {
		err = b.text(ctx, Events, eventsPart, "", eventsText(events))
	}
	if err == nil {
		err = b.files(ctx, before, e)
	}
	return err
}

// none returns a collection without rows.
func none() *page.Collection { return snapshot.EmptyState().Nodes() }

// rowsOf returns the collections of an entry by their names. A nil entry has none.
func rowsOf(e *snapshot.Entry) (rows map[string]*page.Collection, state *snapshot.State, err error) {
	if e == nil {
		return nil, snapshot.EmptyState(), nil
	}
	if state, err = e.State(); err != nil {
		return nil, nil, err
	}
	journal, err := e.Journal()
	rows = maps.Collect(state.Collections())
	for _, of := range journal {
		rows[of.Name] = of.Rows
	}
	return rows, state, err
}

// rows adds the texts of the rows that are new or changed in a collection.
func (b *batch) rows(ctx context.Context, name string, was, is *page.Collection) error {
	for delta, err := range page.Diff(was, is) {
		if err != nil {
			return err
		}
		if delta.To == nil {
			continue
		}
		of, err := textsOf(name, page.Row{Key: delta.Key, Value: delta.To}, b.speaks)
		if err != nil {
			return err
		}
		for kind, text := range of {
			if err := b.text(ctx, Kind(kind), name, delta.Key, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// text adds a text that is no file.
func (b *batch) text(ctx context.Context, kind Kind, part, key, text string) error {
	text = bounded(text)
	sum := sha256.Sum256([]byte(text))
	return b.add(ctx, document{kind: kind, part: part, key: key, hash: sum[:16], text: text})
}

// files adds the files that differ from those before. Trees and files that are not here, or are too large, are left out: other commands tell of them.
func (b *batch) files(ctx context.Context, before, e *snapshot.Entry) error {
	now, err := e.VCSRevision()
	if err != nil || now == nil {
		return err
	}
	var old *snapshot.VCS
	was := make(map[string]objstore.ID)
	if before != nil {
		if old, err = before.VCSRevision(); err != nil {
			return err
		}
	}
	if old != nil {
		was = files.TreesOf(old)
	}
	is := files.TreesOf(now)
	for _, task := range slices.Sorted(maps.Keys(is)) {
		from, had := was[task]
		began := !had && task == ""
		if began {
			from = b.began
		} else if !had {
			from = files.WorktreeStart(b.store.Objects(), old, files.WorktreeOf(now, task))
		}
		edits, err := jjbridge.FileEdits(ctx, b.store.Objects(), from, is[task], "")
		if err != nil && !isAbsent(err) {
			return err
		}
		for _, edit := range edits {
			if edit.Now.Mode != objstore.ModeFile && edit.Now.Mode != objstore.ModeExecutable || edit.Now.ID == edit.Was.ID {
				continue
			}
			d := document{kind: Code, part: task, key: edit.Path, hash: edit.Now.ID.Bytes(), began: began}
			if d.text, err = fileText(b.store.Objects(), edit.Now.ID); err == nil {
				err = b.add(ctx, d)
			}
			if err != nil {
				return err
			}
		}
		if began && err == nil {
			b.began = is[task]
		}
	}
	return nil
}

// isAbsent reports whether an error means that an object is missing, damaged or too large.
func isAbsent(err error) bool {
	return errors.Is(err, objstore.ErrNotFound) || errors.Is(err, objstore.ErrCorrupt) || errors.Is(err, objstore.ErrTreeSize)
}

// add adds a document at the place b.at, unless its text is empty. It writes the batch if that is large: an entry can have all files of a repository.
func (b *batch) add(ctx context.Context, d document) error {
	if strings.TrimSpace(d.text) == "" {
		return nil
	}
	d.entry, d.frame, d.at = b.at.entry, b.at.frame, b.at.at
	b.docs = append(b.docs, d)
	if b.size += len(d.text); b.size < batchBytes {
		return nil
	}
	return b.write(ctx, objstore.ID{})
}

// write writes the texts in one transaction and, if tip is not zero, that the index has the run up to it. The error is errOvertaken if another process
// has written entries of the run.
func (b *batch) write(ctx context.Context, tip objstore.ID) error {
	if tip.IsZero() && len(b.docs) == 0 {
		return nil
	}
	err := b.file.Write(ctx, func(exec func(query string, args ...any) bool) error {
		exec("INSERT INTO runs (ref, run, tip) VALUES (?, ?, x'') ON CONFLICT DO NOTHING", b.ref, b.run)
		if !exec("UPDATE runs SET tip = ? WHERE ref = ? AND tip = ?", cmp.Or(tip, b.tip).Bytes(), b.ref, b.tip.Bytes()) {
			return errOvertaken
		}
		for _, d := range b.docs {
			isNew := exec("INSERT INTO docs (kind, hash) VALUES (?, ?) ON CONFLICT DO NOTHING", d.kind, d.hash)
			if isNew && d.kind == Code {
				exec("INSERT INTO code (rowid, text) VALUES (last_insert_rowid(), ?)", fold(d.text))
			} else if isNew {
				exec("INSERT INTO words (rowid, text) VALUES (last_insert_rowid(), ?)", strings.Join(wordsOf(d.text), " "))
			}
			if isNew || !d.began {
				exec(`INSERT INTO places SELECT d.id, r.id, ?, ?, ?, ?, ? FROM docs AS d, runs AS r WHERE d.hash = ? AND d.kind = ? AND r.ref = ?
					ON CONFLICT DO NOTHING`, d.frame, d.at, d.entry.Bytes(), d.part, d.key, d.hash, d.kind, b.ref)
			}
		}
		if !tip.IsZero() && !b.began.IsZero() {
			exec("INSERT INTO runs (ref, run, tip) VALUES ('', '', ?) ON CONFLICT DO UPDATE SET tip = excluded.tip", b.began.Bytes())
		}
		return nil
	})
	if err == nil {
		b.tip, b.next, b.docs, b.size, b.entries = cmp.Or(tip, b.tip), objstore.ID{}, nil, 0, 0
	}
	return err
}
