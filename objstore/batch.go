package objstore

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Batch collects the objects of one write in memory, except those of [AddLoose]. It must be used by
// one goroutine at a time.
type Batch struct {
	store   *Store
	objects map[ID]int // index in order
	order   []batchObject
	bytes   int64 // of the objects in memory
	flushed bool  // some packs have names that are not on stable storage
}

type batchObject struct {
	object

	id   ID
	file *deferred // has the bytes; nil: data has them
}

var _ Writer = (*Batch)(nil)

// Add takes an object and returns its id. The bytes must not be changed
// afterwards, not even after Commit.
func (b *Batch) Add(kind Kind, data []byte) ID {
	id := Hash(kind, data)
	if _, ok := b.objects[id]; !ok {
		b.objects[id] = len(b.order)
		b.order = append(b.order, batchObject{object: object{kind, data}, id: id})
		b.bytes += int64(len(data))
	}
	return id
}

// addDeferred adds an object that is in a file.
func (b *Batch) addDeferred(d deferred) error {
	if _, ok := b.objects[d.id]; ok {
		return nil
	}
	if err := d.inspect(); err != nil {
		return err
	}
	b.objects[d.id] = len(b.order)
	b.order = append(b.order, batchObject{object: object{kind: d.kind}, id: d.id, file: &d})
	return nil
}

// Get returns an object of the batch or of its store.
func (b *Batch) Get(id ID) (Kind, []byte, error) { return b.GetAtMost(id, b.store.opts.MaxObject) }

// GetAtMost is Get with a bound in bytes for objects of the store. The objects of the batch have no
// bound: this process has made or captured them.
func (b *Batch) GetAtMost(id ID, most int64) (Kind, []byte, error) {
	if i, ok := b.objects[id]; ok {
		o, err := b.order[i].read()
		return o.kind, o.data, err
	}
	return b.store.GetAtMost(id, most)
}

// read returns the object. Bytes from a file are verified.
func (o batchObject) read() (object, error) {
	if o.file == nil {
		return o.object, nil
	}
	return o.file.read()
}

// Len returns the number of uncommitted objects.
func (b *Batch) Len() int { return len(b.order) }

// Bytes returns the memory used by these objects.
func (b *Batch) Bytes() int64 { return b.bytes }

// Commit writes the batch to stable storage as one pack, keeps the pack from a concurrent git gc
// while then runs, and lets go of it. then moves the refs that make the objects reachable; it may
// be nil. For an empty batch, Commit only runs then.
//
// An error of then is returned as it is. Any other error means that then has not run, and leaves
// the batch unchanged; ENOSPC, EROFS and EACCES stay visible to [errors.Is]. Once then has run,
// whether it failed or not, the batch is empty and may be used again: its objects are in the store.
// The pack stays even if then failed, because a ref may have moved although the answer was lost.
// git gc collects the pack if nothing points at it.
func (b *Batch) Commit(ctx context.Context, then func() error) error {
	if then == nil {
		then = func() error { return nil }
	}
	if len(b.order) == 0 {
		if err := b.syncNames(); err != nil {
			return fmt.Errorf("write pack: %w", err)
		}
		return then()
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
	return then()
}

// Flush writes the batch as one pack, for a write that is too large for memory, and keeps the pack
// from a concurrent git gc until release. Then the batch is empty and may be used again. The next
// Commit makes the pack durable, too. An error leaves the batch unchanged.
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

// syncNames puts the names of flushed packs on stable storage.
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

// remember puts the written objects into the store's cache.
func (b *Batch) remember() {
	for _, o := range b.order {
		if o.file == nil {
			b.store.cache.put(cacheKey{id: o.id}, o.object)
		}
	}
}

func (b *Batch) empty() {
	clear(b.objects)
	b.order, b.bytes = nil, 0
}

// write writes the batch as a pack that git leaves alone until release. Its bytes are on stable
// storage if the store's policy demands it. So is its name, if name is true.
func (b *Batch) write(ctx context.Context, name bool) (release func(), err error) {
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
			// The refs have moved or not, whatever happens here. A later Merge removes a .keep file
			// that stays.
			_ = s.temp.fs.Remove(keep) // see above
		}
	}
	if err := s.packs.publish(staged, name, s.failpoints); err != nil {
		letGo()
		return nil, err
	}
	s.temp.refill()
	return func() {
		s.packs.rewriteIndex(staged)
		letGo()
	}, nil
}

// fill writes the commits first, because the first object of a pack shows who made the pack. The
// others follow in the order in which they were added.
func (b *Batch) fill(ctx context.Context, w *packWriter) error {
	for _, commits := range []bool{true, false} {
		for _, o := range b.order {
			if (o.kind == Commit) != commits {
				continue
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := o.writeTo(w); err != nil {
				return err
			}
		}
	}
	return nil
}

// streamedFrom is the size in bytes from which an object in a file is streamed, and never in memory
// as a whole.
const streamedFrom = 1 << 20

// writeTo adds the object to a pack.
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
