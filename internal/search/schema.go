package search

import (
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
)

// FileName is the name of the index in the private folder of a store.
const FileName = "search.db"

// tables creates the tables. A document is a text, with a row in words or, if it is a file, in code. Its places are the first entries of the runs that
// have it. The run
// without a name has a tree whose files are all in the index. Texts come as folded words with blanks between them, or as folded code, so that SQLite's own tables of letters decide nothing.
const tables = `
CREATE TABLE runs (id INTEGER PRIMARY KEY, ref TEXT NOT NULL UNIQUE, run TEXT NOT NULL, tip BLOB NOT NULL);
CREATE TABLE docs (id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, hash BLOB NOT NULL, UNIQUE (hash, kind));
CREATE TABLE places (
	doc INTEGER NOT NULL,
	run INTEGER NOT NULL,
	frame INTEGER NOT NULL,
	at INTEGER NOT NULL,
	entry BLOB NOT NULL,
	part TEXT NOT NULL,
	key TEXT NOT NULL,
	PRIMARY KEY (doc, run)
) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5(text, content='', tokenize='ascii');
CREATE VIRTUAL TABLE code USING fts5(text, content='', tokenize='trigram case_sensitive 1', detail=none);
`

// fileOf returns the options with which the index of a store is opened. The version changes with the tables, with what is indexed, and with what is a
// word.
func fileOf(s *timeline.Store) sqliteindex.FileOptions {
	return sqliteindex.FileOptions{Path: path(s), Shared: refs.IsShared(s.Repo()), ID: 0x67736d73, Version: 2, Tables: tables} // "gsms"
}
