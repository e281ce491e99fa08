// Package cli is the command line: it reads arguments, passes requests to app, and prints the results for people and
// for scripts.
//
// Standard output has data; standard error has messages. At a terminal, the output has aligned tables, colours,
// progress and a pager; otherwise it has tab-separated lines without a header. With --json, every command prints one
// JSON document, or a list as one object per line; an error is a document on standard error.
//
// Programs call only [Main]. A folder has the commands of one topic of the help. A file in the folder has one command
// in four parts: the options, the description (flags, help, examples), the function that reads the options from the
// command line, and the function that runs the command.
package cli
