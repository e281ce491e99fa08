// Package mailbox is what a run waits for, and what people and other programs do about it from outside.
//
// [Decide], [Answer], [CancelRequest] and a [Sender] each append one entry without a frame number to the newest tip. They work
// whether or not an engine executes the run; the engine that executes or resumes it reads the entry. [WaitsOf] lists what
// a run waits for.
package mailbox
