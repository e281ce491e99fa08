// Package snapshot is the model of a run and its encoding as git objects.
//
// A run is a chain of entries. An [Entry] is a commit: its message holds
// the [Header], and its tree holds the run's row ([Run]), the workflow
// ([Workflow]), the workflow state ([State]), the journal of attempts and their
// logs, the rendered frame, the events ([Event]) and the working copy's revision
// ([VCS]). [ReadEntry] opens an entry, which reads its parts when they are requested.
// [Append] builds the entry that follows another entry from a [Draft] of the changes,
// and writes only the objects that differ.
//
// A state has nodes, outputs, loops, an input and a mailbox. A user's JSON is kept
// byte for byte. The metadata of git-smithers is canonical JSON (RFC 8785), so equal
// states have equal ids: a decoder accepts only bytes that its encoder writes.
// docs/format.md specifies every byte.
//
// An error wraps [ErrInvalid] if a caller's data cannot be stored, objstore.ErrCorrupt
// if stored bytes are damaged, and [ErrNewerFormat] if a later version wrote the data.
package snapshot
