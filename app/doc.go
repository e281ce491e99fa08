// Package app is what users ask for, without streams: run a workflow, resume a run, supervise runs, replay a frame, bring
// files back. A request is a struct, a result is a struct, and a Teller hears what happens meanwhile. The package knows no
// command line, no terminal and no environment but what a Desk is given.
package app
