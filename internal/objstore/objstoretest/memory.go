package objstoretest

import (
	"bytes"
	"cmp"
	"fmt"
	"sync"

	"github.com/git-smithers/git-smithers/objstore"
)

// Memory is an [objstore.Writer] that keeps its objects in memory, for tests. The zero value
// is empty and ready to use. It is safe for concurrent use.
type Memory struct {
	// Algorithm is the hash with which the objects are named; 0 means SHA1.
	Algorithm objstore.Algorithm

	mu      sync.RWMutex
	objects map[objstore.ID]memoryObject
}

// memoryObject is an object of a Memory. data is never changed.
type memoryObject struct {
	kind objstore.Kind
	data []byte
}

var _ objstore.Writer = (*Memory)(nil)

// Hash returns the hash with which the objects are named.
func (m *Memory) Hash() objstore.Algorithm { return cmp.Or(m.Algorithm, objstore.SHA1) }

// Add keeps a copy of an object and returns the object's id. Adding an object again does nothing.
func (m *Memory) Add(kind objstore.Kind, data []byte) objstore.ID {
	id := m.Hash().ID(kind, data)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.objects == nil {
		m.objects = make(map[objstore.ID]memoryObject)
	}
	if _, ok := m.objects[id]; !ok {
		m.objects[id] = memoryObject{kind, bytes.Clone(data)}
	}
	return id
}

// Get returns the kind and the bytes of an object that was added. The caller must not change the bytes. The
// error wraps objstore.ErrNotFound if the object was not added.
func (m *Memory) Get(id objstore.ID) (objstore.Kind, []byte, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	o, ok := m.objects[id]
	if !ok {
		return 0, nil, fmt.Errorf("%w: %v", objstore.ErrNotFound, id)
	}
	return o.kind, o.data, nil
}

// Len returns the number of objects.
func (m *Memory) Len() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.objects)
}

// All returns the bytes of all objects, by id. The caller must not change the bytes.
func (m *Memory) All() map[objstore.ID][]byte {
	m.mu.RLock()
	defer m.mu.RUnlock()
	all := make(map[objstore.ID][]byte, len(m.objects))
	for id, o := range m.objects {
		all[id] = o.data
	}
	return all
}
