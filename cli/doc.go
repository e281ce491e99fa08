// Package cli is the command line: it reads arguments, hands requests to app, and
// renders the results for people and for scripts.
//
// Standard output has data; standard error has messages. People at a terminal get
// aligned tables, colour, progress and a pager; everybody else gets tab-separated
// lines without a header. With --json, every command prints one JSON document, or
// a list as one object per line; an error is a document on standard error.
//
// [Main] is the only entry. A folder holds the commands of one topic of the help. A
// file in it holds one command in four parts: its options, its description (flags,
// help, examples), the reading of its options from the command line, and the function that runs it.
package cli
