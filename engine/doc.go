// Package engine runs workflow files: it starts tasks whose needs are met, keeps
// what they print, and records a frame after every change of state.
//
// [Parse] reads and checks a workflow file. [Initial] is frame 0 of a run of it,
// [Run] does what is left of a run, whether that is everything, the rest after a
// cancel, a wait or a crash, or what a fork reset; [Check] tells beforehand whether that
// is anything. [Reconcile] fits the state of a run to another definition. [Cancel] asks
// whoever runs a run to stop. [Decide], [Answer], [CancelRequest] and [Send] are what
// people and other programs do to a run, whether or not it is running.
//
// One goroutine owns the state and commits frames; others only run commands. What
// a frame says is on stable storage before the commands it starts are started, so
// a process that dies at any point leaves a run that Run continues.
//
// Every error is a [fault.Error] with a stable code. docs/workflow.md describes
// the file and what a command is given.
package engine
