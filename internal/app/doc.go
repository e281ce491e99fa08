// Package app carries out what users ask for: run a workflow, resume a run, supervise runs, replay a frame, restore
// files. A request is a struct, a result is a struct, and a Teller receives the progress. The package uses no command
// line, no terminal, and only the environment that a Desk has.
package app
