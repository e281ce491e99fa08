package objstore

import (
	"sync"
	"sync/atomic"
)

// heldObjects are objects that this process has in memory and may not have in a file yet. It is safe for concurrent use.
type heldObjects struct {
	some atomic.Bool // whether objects is not empty, so that most reads need no lock
	mu   sync.RWMutex
	// objects has each object with the number of batches that hold it.
	objects map[ID]heldObject
}

// heldObject is an object, and the number of batches that hold it.
type heldObject struct {
	object

	holders int
}

// get returns a held object of at most limit bytes.
func (h *heldObjects) get(id ID, limit int64) (object, bool) {
	if !h.some.Load() {
		return object{}, false
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	held, ok := h.objects[id]
	return held.object, ok && int64(len(held.data)) <= limit
}

// add holds the objects once more.
func (h *heldObjects) add(objects []batchObject) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.objects == nil {
		h.objects = make(map[ID]heldObject)
	}
	for _, o := range objects {
		h.objects[o.id] = heldObject{o.object, h.objects[o.id].holders + 1}
	}
	h.some.Store(len(h.objects) > 0)
}

// drop undoes one add of the objects.
func (h *heldObjects) drop(objects []batchObject) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range objects {
		if held := h.objects[o.id]; held.holders > 1 {
			h.objects[o.id] = heldObject{held.object, held.holders - 1}
		} else {
			delete(h.objects, o.id)
		}
	}
	h.some.Store(len(h.objects) > 0)
}

// Hold makes the store find the objects of the batch, in memory, until release is called. The caller keeps the objects safe in
// another way, or does not acknowledge them. The batch must have no objects in files, and must not be changed until release.
func (b *Batch) Hold() (release func()) {
	objects := b.order
	b.store.held.add(objects)
	return func() { b.store.held.drop(objects) }
}

// Whole reports whether all objects of the batch are in memory: no object is in a file of the user, and none was flushed.
func (b *Batch) Whole() bool {
	if b.flushed {
		return false
	}
	for _, o := range b.order {
		if o.file != nil {
			return false
		}
	}
	return true
}

// Each calls visit for the objects of the batch, in the order of their Add, until visit returns false. All objects must be in
// memory: see [Batch.Whole]. visit must not change the bytes.
func (b *Batch) Each(visit func(id ID, kind Kind, data []byte) bool) {
	for _, o := range b.order {
		if !visit(o.id, o.kind, o.data) {
			return
		}
	}
}
