// Package mailbox lists the waits of a run, and lets people and other programs end a wait: with a decision, an
// answer or a signal.
//
// [Decide], [Answer], [CancelRequest] and a [Sender] each append one entry without a frame number to the newest
// tip. They work whether or not an engine executes the run. The engine that executes or resumes the run reads the
// entry. [WaitsOf] lists the waits of a run.
package mailbox
