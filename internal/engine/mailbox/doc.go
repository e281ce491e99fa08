// Package mailbox lists the waits of a run, and lets people and other programs end a wait: with a decision, an
// answer or a signal.
//
// An [Intake] takes each of these as a [Letter], and appends one entry without a frame number to the newest tip. It
// works whether or not an engine executes the run. The engine that executes or resumes the run reads the entry. [WaitsOf] lists the waits of a run.
package mailbox
