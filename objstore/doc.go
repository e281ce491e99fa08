// Package objstore stores content-addressed git objects. It writes them in packs of its own, one
// pack a write, reads them back verified, and merges small packs so that there are few.
//
// An object is bytes with a [Kind]. Its [ID] is git's: the hash of "<kind> <length>\x00" and the
// bytes. A [Batch] gathers the objects of one write in memory, and [Batch.Commit] puts them on
// stable storage as one pack before any ref may point at them. [Store.Get] reads any object of the
// repository, no matter which program wrote it: packed, as a delta, loose, or in a repository that
// this one borrows from.
//
// # Living beside git
//
// Any number of processes, including git, may use the object directory at the same time, without a
// lock. Files appear complete, by rename, and are never changed. A .keep file protects a new pack
// until the refs to it have moved. If a pack vanishes while it is read, another pack with the same
// objects has replaced it, and the reader looks again. Only [Store.Merge] and [Store.Drop] take a
// lock, so that two processes do not do the same work.
//
// Package objstore knows nothing of refs, runs or frames, and moves no ref.
package objstore
