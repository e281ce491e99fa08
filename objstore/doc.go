// Package objstore stores content-addressed git objects: it writes them in
// packs of its own, one pack a write, reads them back verified, and merges small
// packs so that their number stays small.
//
// An object is bytes with a [Kind]; its [ID] is git's: the hash of
// "<kind> <length>\x00" and the bytes. A [Batch] gathers the objects of one
// write in memory, and [Batch.Commit] puts them on stable storage as one pack
// before anything may point at them. [Store.Get] reads any object of the
// repository, whoever wrote it: packed, with or without deltas, loose, or in a
// repository that this one borrows from.
//
// # Living beside git
//
// Any number of processes, git among them, may use the object directory at the same
// time, and no lock is needed for that. Files appear by rename, complete, and are
// never changed; a pack is protected by a .keep file until the refs to it have
// moved; a pack that vanishes under a reader has been replaced by another with the
// same objects, which the reader finds by looking again. Only [Store.Merge] takes a
// lock, so that two processes do not do the same work.
//
// Package objstore knows nothing of refs, runs or frames, and moves no ref.
package objstore
