package objstore

import (
	"bytes"
	"fmt"
	"sync"
)

// Memory is a [Writer] that keeps its objects in memory: for tests and for
// computing ids without a repository. The zero value is empty and ready to use;
// it is safe for concurrent use.
type Memory struct {
	mu      sync.RWMutex
	objects map[ID]memoryObject
}

type memoryObject struct {
	kind Kind
	data []byte
}

var _ Writer = (*Memory)(nil)

// Add keeps a copy of an object.
func (m *Memory) Add(kind Kind, data []byte) ID {
	id := Hash(kind, data)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.objects == nil {
		m.objects = make(map[ID]memoryObject)
	}
	if _, ok := m.objects[id]; !ok {
		m.objects[id] = memoryObject{kind, bytes.Clone(data)}
	}
	return id
}

// Get returns an object that was added.
func (m *Memory) Get(id ID) (Kind, []byte, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	o, ok := m.objects[id]
	if !ok {
		return 0, nil, fmt.Errorf("%w: %v", ErrNotFound, id)
	}
	return o.kind, o.data, nil
}

// Len is the number of objects.
func (m *Memory) Len() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.objects)
}
