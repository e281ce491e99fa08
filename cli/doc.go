// Package cli is the command line: it reads arguments, hands requests to app, and
// renders the results for people and for scripts.
//
// Standard output is data, standard error is talk. People at a terminal get
// aligned tables, colour, progress and a pager; everybody else gets tab-separated
// lines without a header. With --json, every command prints one JSON document, or
// one object a line for a list; so does an error, on standard error.
//
// [Main] is the only door. A folder holds the commands of one topic of the help. A
// file in it holds one command in four parts: its options, its description (flags,
// help, examples), the reading of its options from the command line, and the function that runs it.
package cli
