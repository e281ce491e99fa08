package search

import "github.com/git-smithers/git-smithers/sqliteindex"

const (
	// FileName is the name of the index in the private folder of a store.
	FileName = "search.db"

	applicationID = 0x67736d73 // "gsms"
	// version changes with the tables, with what is indexed, and with how texts become words.
	version = 1
)

// tables creates the tables. A document is a text; it has a row in words or, if it is a file, in code. It was first found in the
// places of it, one for each run that has it. Texts come as tokens of ASCII blanks and folded letters, so that SQLite's own folding decides nothing.
const tables = `
CREATE TABLE runs (
	id INTEGER PRIMARY KEY,
	ref TEXT NOT NULL UNIQUE,
	run TEXT NOT NULL,
	tip BLOB NOT NULL
);
CREATE TABLE entries (
	id INTEGER PRIMARY KEY,
	run INTEGER NOT NULL,
	frame INTEGER NOT NULL,
	at INTEGER NOT NULL,
	entry BLOB NOT NULL
);
CREATE TABLE docs (
	id INTEGER PRIMARY KEY,
	kind INTEGER NOT NULL,
	hash BLOB NOT NULL
);
CREATE UNIQUE INDEX docs_by_hash ON docs (hash, kind);
CREATE TABLE places (
	doc INTEGER NOT NULL,
	run INTEGER NOT NULL,
	entry INTEGER NOT NULL,
	part TEXT NOT NULL,
	key TEXT NOT NULL,
	PRIMARY KEY (doc, run)
) WITHOUT ROWID;
CREATE TABLE began (one INTEGER PRIMARY KEY, tree BLOB NOT NULL);
CREATE VIRTUAL TABLE words USING fts5(text, content='', tokenize='ascii');
CREATE VIRTUAL TABLE code USING fts5(text, content='', tokenize='trigram case_sensitive 1', detail=none);
`

// file returns the options with which the index at path is opened.
func file(path string, shared bool) sqliteindex.FileOptions {
	return sqliteindex.FileOptions{Path: path, Shared: shared, ID: applicationID, Version: version, Tables: tables}
}
