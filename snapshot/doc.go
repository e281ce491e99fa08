// Package snapshot is the model of a run and its encoding as git objects.
//
// A run is a chain of entries. An [Entry] is a commit: its message holds
// the [Header], and its tree holds the run's row ([Run]), the workflow
// ([Workflow]), the workflow state ([State]), the journal of attempts and their
// logs, the rendered frame, the events ([Event]) and the working copy's revision
// ([VCS]). [ReadEntry] opens an entry, which reads its parts when they are requested.
// [Append] builds the entry that follows another from a [Draft] of what changes,
// and writes only the objects that differ.
//
// A state is nodes, outputs, loops and an input. A user's JSON is kept byte for
// byte. Our own metadata is canonical JSON (RFC 8785), so that equal state has
// equal ids: decoders accept only what encoders write. docs/format.md specifies
// everything to the byte.
//
// Callers' data that cannot be stored is [ErrInvalid], damaged stored bytes are
// objstore.ErrCorrupt, and data of a later version is [ErrNewerFormat].
package snapshot
