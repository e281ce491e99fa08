// Package objstore stores content-addressed git objects. It writes each batch of objects as a new
// pack, verifies objects when it reads them, and merges small packs so that their number stays low.
//
// An object is bytes with a [Kind]. Its [ID] is git's: the hash of "<kind> <length>\x00" and the
// bytes. A [Batch] collects the objects of one write in memory, and [Batch.Commit] puts them on
// stable storage as one pack before any ref may point at them. [Store.Get] reads any object of the
// repository, no matter which program wrote the object. The object may be packed in full or as a
// delta, loose, or in an alternate, a repository from which the repository borrows objects.
//
// It is not a promised API: any version may change it. Promised packages take and return some of its types.
//
// # Living beside git
//
// Any number of processes, including git, may use the object directory at the same time, without a lock. Each file
// appears complete, by rename, and never changes. A .keep file protects a new pack until the refs to its objects have
// moved. If a pack vanishes during a read, another pack with the same objects has replaced it, and the reader looks for
// packs again. Only the functions that remove files, such as [Store.Merge] and [Store.Drop], take a lock, so that two
// processes do not do the same work.
//
// Package objstore knows nothing of refs, runs or frames, and moves no ref.
package objstore
