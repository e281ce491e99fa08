package objstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"
)

// Batch collects the objects of one write in memory. The objects of [AddLoose] stay in their files.
// A Batch must be used by one goroutine at a time.
type Batch struct {
	store   *Store
	objects map[ID]int32 // index in order
	order   []batchObject
	bytes   int64 // of the objects in memory
	flushed bool  // Flush has written packs whose names may not be on stable storage
}

// batchObject is an object of a Batch, in memory or in a file.
type batchObject struct {
	object

	id   ID
	file *deferredObject // the source of the bytes; nil if data has the bytes
}

var _ Writer = (*Batch)(nil)

// Add adds an object to the batch, unless the batch has it already, and returns the object's id.
// The caller must not change data afterwards, not even after Commit.
func (b *Batch) Add(kind Kind, data []byte) ID {
	id := b.store.opts.Hash.ID(kind, data)
	if _, ok := b.objects[id]; !ok {
		b.objects[id] = int32(len(b.order))
		b.order = append(b.order, batchObject{object: object{kind, data}, id: id})
		b.bytes += int64(len(data))
	}
	return id
}

// addDeferred adds an object that is in a file, unless the batch has the object already. It reads only the kind
// and the size of the object. The bytes stay in the file until the batch is written.
func (b *Batch) addDeferred(d deferredObject) error {
	if _, ok := b.objects[d.id]; ok {
		return nil
	}
	if err := d.inspect(); err != nil {
		return err
	}
	b.objects[d.id] = int32(len(b.order))
	b.order = append(b.order, batchObject{object: object{kind: d.kind}, id: d.id, file: &d})
	return nil
}

// Hash returns the hash with which the repository names its objects.
func (b *Batch) Hash() Algorithm { return b.store.Hash() }

// Get returns the kind and the bytes of an object of the batch. If the batch does not have the object, Get reads it
// from the store.
func (b *Batch) Get(id ID) (Kind, []byte, error) { return b.GetAtMost(id, b.store.opts.MaxObject) }

// GetAtMost returns an object as Get does. If an object of the store has more than limit bytes, the error is a
// [*CorruptError]. The objects of the batch have no limit, because this process made or captured them.
func (b *Batch) GetAtMost(id ID, limit int64) (Kind, []byte, error) {
	if i, ok := b.objects[id]; ok {
		o, err := b.order[i].read()
		return o.kind, o.data, err
	}
	return b.store.GetAtMost(id, limit)
}

// read returns the object with its bytes. If the bytes are in a file, read verifies them against the id.
func (o batchObject) read() (object, error) {
	if o.file == nil {
		return o.object, nil
	}
	return o.file.read()
}

// Len returns the number of objects that were added since the last Commit or Flush.
func (b *Batch) Len() int { return len(b.order) }

// Shorten drops the objects that were added after the first n, as if they had not been added.
func (b *Batch) Shorten(n int) {
	for _, o := range b.order[n:] {
		delete(b.objects, o.id)
		if o.file == nil {
			b.bytes -= int64(len(o.data))
		}
	}
	b.order = b.order[:n]
}

// Bytes returns the total size in bytes of the objects in memory that were added since the last Commit or Flush.
// Objects in files do not count.
func (b *Batch) Bytes() int64 { return b.bytes }

// Commit writes the batch as one pack, to stable storage unless the store is [Relaxed]. After that it calls moveRefs,
// which moves the refs that make the objects reachable; moveRefs may be nil. Commit protects the pack from a concurrent
// git gc until moveRefs returns. For an empty batch, Commit writes no pack and calls moveRefs.
//
// Commit returns an error of moveRefs unchanged. After any other error, moveRefs has not run and the batch is
// unchanged; [errors.Is] recognizes ENOSPC, EROFS and EACCES. Once moveRefs has run, successful or not, the batch is
// empty and may be used again, and its objects are in the store. The pack stays even if moveRefs failed, because a ref
// may have moved before the failure. If no ref reaches its objects, git gc removes the pack later.
func (b *Batch) Commit(ctx context.Context, moveRefs func() error) error {
	if moveRefs == nil {
		moveRefs = func() error { return nil }
	}
	if len(b.order) == 0 {
		if err := b.syncNames(); err != nil {
			return fmt.Errorf("write pack: %w", err)
		}
		return moveRefs()
	}
	release, err := b.write(ctx, b.store.opts.Fsync == Durable)
	if err != nil {
		return fmt.Errorf("write pack: %w", err)
	}
	defer release()
	b.flushed = false
	b.remember()
	if err := b.store.failpoints.at("before-refs"); err != nil {
		return err
	}
	b.empty()
	return moveRefs()
}

// Flush writes the batch as one pack and empties the batch. A caller uses it for a write that is too large for memory.
// The pack is protected from a concurrent git gc until the caller calls release. If the store is Durable, the next
// Commit puts the pack's name on stable storage. After an error, the batch is unchanged and release is nil. For an
// empty batch, Flush and release do nothing.
func (b *Batch) Flush(ctx context.Context) (release func(), err error) {
	if len(b.order) == 0 {
		return func() {}, nil
	}
	if release, err = b.write(ctx, false); err != nil {
		return nil, fmt.Errorf("write pack: %w", err)
	}
	b.flushed = true
	b.remember()
	b.empty()
	return release, nil
}

// syncNames puts the names of flushed packs on stable storage, if the store is Durable. If no pack was flushed since
// the last Commit, it does nothing.
func (b *Batch) syncNames() error {
	if !b.flushed {
		return nil
	}
	if s := b.store; s.opts.Fsync == Durable {
		if err := s.packs.files.sync(); err != nil {
			return err
		}
	}
	b.flushed = false
	return nil
}

// remember adds the objects of the batch to the store's cache, except those in files.
func (b *Batch) remember() {
	for _, o := range b.order {
		if o.file == nil {
			// The bytes can be a small part of a large value, which the cache must not keep.
			b.store.cache.put(keyOf(o.id), object{o.kind, bytes.Clone(o.data)})
		}
	}
}

// empty removes all objects from the batch.
func (b *Batch) empty() {
	clear(b.objects)
	b.order, b.bytes = nil, 0
}

// write writes the batch as a pack, under a name at which git and this store find the pack. git gc does not remove the
// pack until the caller calls release. If the store is Durable, the pack's bytes are on stable storage when write
// returns. If syncName is true, the pack's name is on stable storage, too. After an error, release is nil.
func (b *Batch) write(ctx context.Context, syncName bool) (release func(), err error) {
	s := b.store
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.life.RUnlock()
	staged, err := s.packs.stage(ctx, len(b.order), s.opts.Fsync == Durable, time.Time{}, b.fill)
	if err != nil {
		return nil, err
	}
	if err := s.failpoints.at("after-pack-temp"); err != nil {
		staged.discard()
		return nil, err
	}
	keep := s.packs.files.path(staged.name, ".keep")
	kept, err := s.temp.keep(keep)
	if err != nil {
		staged.discard()
		return nil, err
	}
	letGo := func() {
		if kept {
			// The refs have moved already, or will not move. A later Merge removes a .keep file that stays.
			_ = s.temp.fs.Remove(keep)
		}
	}
	if err := s.packs.publish(staged, syncName, s.failpoints); err != nil {
		letGo()
		return nil, err
	}
	s.temp.refill()
	return func() {
		s.packs.rewriteIndex(staged)
		letGo()
	}, nil
}

// fill adds the objects of the batch to w, a commit of this program first. If the batch has several commits, older versions of its
// objects in memory become deltas of newer versions, as a merge makes them.
func (b *Batch) fill(ctx context.Context, w *packWriter) error {
	set := &mergeSet{byID: b.objects, objects: make([]mergeObject, len(b.order))}
	commits := 0
	for i := range b.order {
		o := &b.order[i]
		if o.kind == Commit {
			commits++
		}
		size := int64(len(o.data))
		if o.file != nil {
			size = maxDeltify + 1 // it gets no delta
		}
		// A full entry is taken to be a quarter shorter than its object.
		set.objects[i] = mergeObject{id: o.id, held: o, base: noBase, kind: uint8(o.kind), size: size, length: size * 3 / 4}
	}
	if commits > 1 {
		if err := (&deltifier{mergeSet: set, deflate: &w.deflate}).run(ctx); err != nil {
			return err
		}
	}
	return set.write(ctx, w)
}

// streamedFrom is the size in bytes from which an object in a file is streamed. Such an object is
// never in memory as a whole.
const streamedFrom = 1 << 20

// writeTo adds the object to w. It verifies the bytes of an object in a file against the id. If such an object
// has streamedFrom bytes or more, writeTo never has the whole object in memory.
func (o batchObject) writeTo(w *packWriter) (err error) {
	if o.file == nil || o.file.size < streamedFrom {
		whole, err := o.read()
		if err != nil {
			return err
		}
		return w.addObject(o.id, whole)
	}
	r, err := o.file.reader()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	return w.addStream(o.id, r.kind, r.size, r)
}
