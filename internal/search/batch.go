package search

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

const (
	// batchBytes and batchEntries bound what one transaction writes: other processes wait for it.
	batchBytes   = 2 << 20
	batchEntries = 500
)

// batch collects the texts of some entries of one run, and writes them in one transaction. A batch that was written is empty, and goes on.
type batch struct {
	*Index

	reader   entryReader
	ref, run string
	tip      objstore.ID // the indexed entry of the run
	next     objstore.ID // the last entry of which b has all texts; zero for none

	entries []batchEntry
	docs    []batchDoc
	size    int
	known   map[string]bool // files that are in the index, by their ids
}

// batchEntry is an entry with texts.
type batchEntry struct {
	id        objstore.ID
	frame, at int64
	row       int64 // its number in the index, once it has one
}

// batchDoc is a text of an entry.
type batchDoc struct {
	document

	entry int // the index in entries
}

// databaseError is an error of the index, and not of a run.
type databaseError struct{ error }

// Unwrap returns the error.
func (e databaseError) Unwrap() error { return e.error }

// isOurs reports whether an error is of the index, and not of a run.
func isOurs(err error) bool {
	_, ok := errors.AsType[databaseError](err)
	return ok || errors.Is(err, errOvertaken) || errors.Is(err, errGone)
}

// begin reads the tree whose files are all in the index.
func (b *batch) begin(ctx context.Context) error {
	b.known = make(map[string]bool)
	var id []byte
	err := b.file.Use(ctx, func(db *sql.DB) error {
		err := db.QueryRowContext(ctx, "SELECT tree FROM began").Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	if err != nil {
		return databaseError{err}
	}
	b.reader.began, _ = objstore.IDFromBytes(id)
	return nil
}

// entry takes in the texts that an entry has and before has not. frame is the number of the entry, or of the newest frame before it.
func (b *batch) entry(ctx context.Context, before, e *snapshot.Entry, frame int64) error {
	b.entries = append(b.entries, batchEntry{id: e.ID, frame: frame, at: e.AtMs})
	return b.reader.read(ctx, before, e)
}

// reached notes that b has all texts of the run up to an entry, and writes them if they are many.
func (b *batch) reached(ctx context.Context, e *snapshot.Entry) error {
	if b.next = e.ID; b.size >= batchBytes || len(b.entries) >= batchEntries {
		return b.flush(ctx)
	}
	return nil
}

// add returns the function that adds a text to the last entry. It reads a file that the index has not.
func (b *batch) add(ctx context.Context) func(document) error {
	return func(d document) error {
		if d.kind == Code {
			known, err := b.isKnown(ctx, d.hash)
			switch {
			case err != nil:
				return err
			case known && d.began:
				return nil
			case !known:
				id, err := objstore.IDFromBytes(d.hash)
				if err == nil {
					d.text, err = readFile(b.reader.objects, id)
				}
				if err != nil || d.text == "" {
					return err
				}
				b.known[string(d.hash)] = true
			}
		}
		b.docs = append(b.docs, batchDoc{d, len(b.entries) - 1})
		if b.size += len(d.text); b.size < batchBytes {
			return nil
		}
		return b.write(ctx, objstore.ID{}) // an entry can have all files of a large repository
	}
}

// isKnown reports whether the index, or the batch, has a file.
func (b *batch) isKnown(ctx context.Context, hash []byte) (known bool, err error) {
	if b.known[string(hash)] {
		return true, nil
	}
	err = b.file.Use(ctx, func(db *sql.DB) error {
		return db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM docs WHERE hash = ? AND kind = ?)", hash, Code).Scan(&known)
	})
	if err != nil {
		return false, databaseError{err}
	}
	return known, nil
}

// flush writes the texts, and that the index has the run up to the last whole entry.
func (b *batch) flush(ctx context.Context) error { return b.write(ctx, b.next) }

// write writes the texts in one transaction. If tip is not zero, the index has the run up to it. The error is errOvertaken if another process has
// written entries of the run.
func (b *batch) write(ctx context.Context, tip objstore.ID) error {
	if tip.IsZero() && len(b.docs) == 0 {
		return nil
	}
	var entries []batchEntry
	err := b.file.Write(ctx, func(tx *sql.Tx) error {
		w := writer{ctx: ctx, tx: tx}
		entries = slices.Clone(b.entries) // a transaction that failed has numbered none
		run := w.run(b.ref, b.run, b.tip)
		for _, d := range b.docs {
			w.add(run, &entries[d.entry], d.document)
		}
		if !tip.IsZero() {
			w.exec("UPDATE runs SET tip = ? WHERE id = ?", tip.Bytes(), run)
			if !b.reader.began.IsZero() {
				w.exec("INSERT INTO began (one, tree) VALUES (1, ?) ON CONFLICT DO UPDATE SET tree = excluded.tree", b.reader.began.Bytes())
			}
		}
		return w.err
	})
	if errors.Is(err, errOvertaken) {
		return errOvertaken
	}
	if err != nil {
		return databaseError{err}
	}
	b.entries, b.docs, b.size = entries, nil, 0
	if tip.IsZero() {
		return nil
	}
	b.tip, b.next, b.entries = tip, objstore.ID{}, nil
	clear(b.known)
	return nil
}

// writer writes rows in a transaction. After an error it writes no more.
type writer struct {
	ctx context.Context //nolint:containedctx // it lives as long as the transaction
	tx  *sql.Tx
	err error
}

// exec runs a statement, and returns the number of the last row that was inserted, and whether a row has changed.
func (w *writer) exec(query string, args ...any) (row int64, changed bool) {
	if w.err != nil {
		return 0, false
	}
	result, err := w.tx.ExecContext(w.ctx, query, args...)
	if err != nil {
		w.err = err
		return 0, false
	}
	row, _ = result.LastInsertId() //nolint:errcheck // SQLite always knows it
	n, _ := result.RowsAffected()
	return row, n > 0
}

// get reads one row into places, and reports whether there is one.
func (w *writer) get(query string, args []any, places ...any) bool {
	if w.err != nil {
		return false
	}
	err := w.tx.QueryRowContext(w.ctx, query, args...).Scan(places...)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		w.err = err
	}
	return err == nil
}

// run returns the number of a run in the index, whose indexed entry must be tip.
func (w *writer) run(ref, run string, tip objstore.ID) (id int64) {
	var indexed []byte
	if !w.get("SELECT id, tip FROM runs WHERE ref = ?", []any{ref}, &id, &indexed) {
		id, _ = w.exec("INSERT INTO runs (ref, run, tip) VALUES (?, ?, x'')", ref, run)
	}
	if w.err == nil && string(indexed) != string(tip.Bytes()) {
		w.err = errOvertaken
	}
	return id
}

// add adds a text of an entry of a run.
func (w *writer) add(run int64, at *batchEntry, d document) {
	var doc int64
	found := w.get("SELECT id FROM docs WHERE hash = ? AND kind = ?", []any{d.hash, d.kind}, &doc)
	if found && d.began || w.err != nil {
		return
	}
	if !found {
		doc, _ = w.exec("INSERT INTO docs (kind, hash) VALUES (?, ?)", d.kind, d.hash)
		if d.kind == Code {
			w.exec("INSERT INTO code (rowid, text) VALUES (?, ?)", doc, fold(d.text))
		} else {
			w.exec("INSERT INTO words (rowid, text) VALUES (?, ?)", doc, words(d.text))
		}
	}
	var has bool
	if w.get("SELECT 1 FROM places WHERE doc = ? AND run = ?", []any{doc, run}, &has); has || w.err != nil {
		return
	}
	if at.row == 0 {
		at.row, _ = w.exec("INSERT INTO entries (run, frame, at, entry) VALUES (?, ?, ?, ?)", run, at.frame, at.at, at.id.Bytes())
	}
	w.exec("INSERT INTO places (doc, run, entry, part, key) VALUES (?, ?, ?, ?, ?)", doc, run, at.row, d.part, d.key)
}

// each calls f for each row of a query's result.
func each(ctx context.Context, db *sql.DB, query string, args []any, f func(scan func(...any) error) error) error {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // rows.Err has the same error
	for rows.Next() {
		if err := f(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}
