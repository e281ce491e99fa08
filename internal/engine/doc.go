// Package engine runs workflow files: it starts tasks whose needs are met, stores their outputs, and records a
// frame after every change of state.
//
// Package workflow parses the file. [Initial] returns frame 0 of a new run. [Run] does the remaining work of a run: it
// runs a new run from the beginning, continues a run after a cancel, a wait or a crash, and runs the nodes that a fork
// reset. [Check] reports beforehand whether any work remains. [Reconcile] adapts the state of a run to another
// definition. [Cancel] asks the process that executes a run to stop. People and other programs act on a run through
// package mailbox, whether or not a process executes the run.
//
// One goroutine owns the state and commits frames; other goroutines only run commands. A frame is on stable storage
// before its commands start, so Run can continue the run after a crash at any time.
//
// Every error is a [fault.Error] with a stable code. docs/workflow-reference.md describes
// the file and the context of a command.
package engine
