package objstore

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
)

const (
	// mergeCache is the size in bytes of the cache for inflated objects of a merge, a check or a
	// verification.
	mergeCache = 16 << 20
	// maxKeptChain is the depth up to which a merge copies an existing delta. A merge writes a deeper object in
	// full. A merge can make chains longer: if several packs have a copy of an object, the chain that builds on
	// the object can continue in another pack. git gc makes chains of at most this depth, so a merge keeps its
	// deltas.
	maxKeptChain = 50
	noBase       = -1 // base of a mergeObject that is not a delta
)

// mergeSet holds the objects of the packs to merge. An object of several packs is in the set once.
type mergeSet struct {
	recent  *cache  // of the store: it has the objects that this process has written
	inputs  []*pack // the pack with the most objects first
	objects []mergeObject
	byID    map[ID]int32 // index in objects
}

// mergeObject is one object of a merge: its source and its form in the output.
type mergeObject struct {
	id     ID
	held   *batchObject // the object of a batch that is written; nil in a merge
	input  int32        // index in inputs of the pack with the copy to use
	base   int32        // index of the object's base if the object is a delta, otherwise noBase
	depth  int32        // number of existing deltas between the object and its full base
	height int32        // number of deltas in the longest chain that builds on the object
	kind   uint8        // of its entry in the input

	offset, length int64 // of its entry in the input
	head           int64 // length of the entry's head
	size           int64 // size of the entry's inflated stream

	inflate bool   // write the object in full instead of copying its entry
	delta   []byte // zlib stream of a new delta against base, of deltaSize bytes inflated
	deltaSize,
	at int64 // offset in the output; 0 until the object is written
}

// openMergeSet opens the chosen packs and reads the heads of their entries. If several packs have an object,
// the set uses the copy in the pack with the most objects. So the base of a delta is in the same pack or in a
// larger one, and chains of sound packs have no circles. If a pack is damaged or its deltas form a circle, the
// error is a [*CorruptError]. If a pack no longer exists, vanished returns true for the error. After an error
// the packs are closed.
func openMergeSet(dir *objectDir, chosen []mergePack) (_ *mergeSet, err error) {
	set := &mergeSet{recent: dir.cache, byID: make(map[ID]int32)}
	defer func() {
		if err != nil {
			err = errors.Join(err, set.close())
		}
	}()
	r := newReading(dir.hash, newCache(mergeCache), dir.maxObject)
	bySize := slices.SortedFunc(slices.Values(chosen), func(a, b mergePack) int {
		return cmp.Or(cmp.Compare(b.objects, a.objects), cmp.Compare(a.name, b.name))
	})
	for _, c := range bySize {
		p := dir.openAside(c.name)
		p.reading = r
		set.inputs = append(set.inputs, p)
	}
	bases := make(map[int32]ID)
	for i := range set.inputs {
		if err := set.load(int32(i), bases); err != nil {
			return set, err
		}
	}
	for o, base := range bases {
		b, ok := set.byID[base]
		if !ok {
			return set, set.corrupt(o, errNoBase)
		}
		set.objects[o].base = b
	}
	return set, set.measureChains()
}

// close closes the packs of the set.
func (m *mergeSet) close() error {
	var errs []error
	for _, p := range m.inputs {
		errs = append(errs, p.close())
	}
	return errors.Join(errs...)
}

// load adds the objects of a pack to the set. It leaves out objects that an earlier pack has added. input is
// the index of the pack in m.inputs. For each delta, load adds the id of its base to bases; the key is the
// delta's index in m.objects. If the pack is damaged, the error is a [*CorruptError].
func (m *mergeSet) load(input int32, bases map[int32]ID) error {
	p := m.inputs[input]
	f, end, err := p.open()
	if err != nil {
		return err
	}
	idx, err := p.index()
	if err != nil {
		return err
	}
	entries, err := idx.all()
	if err != nil {
		return p.corrupt(ID{}, p.idxPath, err.Error())
	}
	slices.SortFunc(entries, func(a, b indexEntry) int { return cmp.Compare(a.offset, b.offset) })
	c := p.cursors.get(f, end)
	defer p.cursors.put(c)
	for i, e := range entries {
		if _, ok := m.byID[e.id]; ok {
			continue
		}
		// An entry ends where the next one starts.
		next := end
		if i+1 < len(entries) {
			next = entries[i+1].offset
		}
		head, err := c.entryHead(e.offset)
		if err == nil && e.offset+head.length >= next {
			err = errTruncated
		}
		if err != nil {
			return p.explain(e.id, c, err)
		}
		o := int32(len(m.objects))
		m.byID[e.id] = o
		m.objects = append(m.objects, mergeObject{
			id: e.id, input: input, base: noBase, kind: head.kind,
			offset: e.offset, length: next - e.offset, head: head.length, size: head.size,
		})
		switch head.kind {
		case idDelta:
			bases[o] = head.baseID
		case offsetDelta:
			at, found := slices.BinarySearchFunc(entries, head.base, func(e indexEntry, offset int64) int {
				return cmp.Compare(e.offset, offset)
			})
			if !found {
				return p.corrupt(e.id, p.packPath, errNoBase.Error())
			}
			bases[o] = entries[at].id
		}
	}
	return nil
}

// measureChains sets the depth and the height of each object. An object deeper than maxKeptChain is no longer a
// delta afterwards and will be written in full. If deltas form a circle, the error is a [*CorruptError].
func (m *mergeSet) measureChains() error {
	var chain []int32
	for i := range m.objects {
		chain = chain[:0]
		// Walk to the first object that is full or already measured. A delta with depth 0 is not measured yet.
		for o := int32(i); m.objects[o].base != noBase && m.objects[o].depth == 0; o = m.objects[o].base {
			if len(chain) == len(m.objects) {
				return m.corrupt(o, errChain)
			}
			chain = append(chain, o)
		}
		for _, o := range slices.Backward(chain) {
			m.setDepth(o)
		}
	}
	for i := range m.objects {
		m.raise(int32(i))
	}
	return nil
}

// setDepth sets the depth of object o. The depth of the base of o must be set already. If the depth exceeds
// maxKeptChain, setDepth cuts the chain: object o will be written in full.
func (m *mergeSet) setDepth(o int32) {
	object := &m.objects[o]
	object.depth = m.objects[object.base].depth + 1
	if object.depth > maxKeptChain {
		object.kind = uint8(m.kindOf(o))
		object.base, object.depth, object.inflate = noBase, 0, true
	}
}

// corrupt returns a [*CorruptError] about object o in its input pack, with the text of reason.
func (m *mergeSet) corrupt(o int32, reason error) error {
	p := m.inputs[m.objects[o].input]
	return p.corrupt(m.objects[o].id, p.packPath, reason.Error())
}

// raise increases the heights of the objects on which o builds, so that each of them is higher than the delta
// that builds on it. raise stops at a base that is high enough, because all further bases are then high enough
// too.
func (m *mergeSet) raise(o int32) {
	height := m.objects[o].height
	for b := m.objects[o].base; b != noBase; b = m.objects[b].base {
		if height++; m.objects[b].height >= height {
			return
		}
		m.objects[b].height = height
	}
}

// kindOf returns the kind of object o. A delta has the kind of the full object at the end of its
// chain.
func (m *mergeSet) kindOf(o int32) Kind {
	for m.objects[o].base != noBase && m.objects[o].kind > uint8(Tag) {
		o = m.objects[o].base
	}
	return Kind(m.objects[o].kind)
}

// read returns the kind and the bytes of object o, verified against its id. It caches the object.
func (m *mergeSet) read(o int32) (object, error) {
	from := &m.objects[o]
	if from.held != nil {
		return from.held.read()
	}
	p := m.inputs[from.input]
	key := keyOf(from.id)
	for _, known := range []*cache{m.recent, p.cache} {
		if found, ok := known.get(key); ok {
			return found, nil
		}
	}
	found, err := p.read(from.id, from.offset, p.maxObject)
	if err == nil {
		p.cache.put(key, found)
	}
	return found, err
}

// write adds every object of the set to w, each base before its deltas. If the set has a commit by [Author]
// that is not a delta, this commit is written first: the first object of a pack shows which program made the
// pack. write stops with an error when ctx ends.
func (m *mergeSet) write(ctx context.Context, w *packWriter) error {
	for o := range m.objects {
		if m.objects[o].base != noBase || m.kindOf(int32(o)) != Commit {
			continue
		}
		commit, err := m.read(int32(o))
		if err != nil {
			return err
		}
		if isOurCommit(commit.data) {
			if err := m.writeObject(int32(o), w); err != nil {
				return err
			}
			break
		}
	}
	for o := range m.objects {
		if err := stopped(ctx, "write pack"); err != nil {
			return err
		}
		if err := m.writeObject(int32(o), w); err != nil {
			return err
		}
	}
	return nil
}

// writeObject adds the object at index to w, after the bases that its delta needs. It does nothing if the
// object is already written. If the object has a new delta, writeObject writes the new delta. Otherwise it
// writes the object in full if o.inflate is true, and copies the entry of the input if o.inflate is false.
func (m *mergeSet) writeObject(index int32, w *packWriter) error {
	o := &m.objects[index]
	if o.at != 0 {
		return nil
	}
	head := entryHead{kind: o.kind, size: o.size}
	if o.base != noBase {
		if err := m.writeObject(o.base, w); err != nil {
			return err
		}
		head = entryHead{kind: offsetDelta, size: o.size, base: m.objects[o.base].at}
	}
	o.at = w.offset
	if o.held != nil && o.delta == nil {
		return o.held.writeTo(w)
	}
	if o.inflate && o.delta == nil {
		full, err := m.read(index)
		if err != nil {
			return err
		}
		return w.addObject(o.id, full)
	}
	if o.delta != nil {
		head.size = o.deltaSize
		return w.addEntry(o.id, append(appendEntryHead(nil, head, o.at), o.delta...), nil, 0)
	}
	f, _, err := m.inputs[o.input].open()
	if err != nil {
		return err
	}
	stream := o.length - o.head
	return w.addEntry(o.id, appendEntryHead(nil, head, o.at), io.NewSectionReader(f, o.offset+o.head, stream), stream)
}

// remove removes the objects with the given ids from the set. A delta whose base is removed will be written in
// full.
func (m *mergeSet) remove(ids map[ID]struct{}) {
	const gone = -2 // place of a removed object; differs from noBase, the base of a full object
	places, kept := make([]int32, len(m.objects)), int32(0)
	for o := range m.objects {
		places[o] = gone
		if _, drop := ids[m.objects[o].id]; !drop {
			places[o], kept = kept, kept+1
		}
	}
	objects := make([]mergeObject, 0, kept)
	for i, object := range m.objects {
		if places[i] == gone {
			continue
		}
		if object.base != noBase {
			if places[object.base] == gone {
				// The removed base is still in m.objects, so the kind can be found.
				object.kind = uint8(m.kindOf(int32(i)))
				object.base, object.inflate = noBase, true
			} else {
				object.base = places[object.base]
			}
		}
		objects = append(objects, object)
	}
	clear(m.byID)
	for o := range objects {
		m.byID[objects[o].id] = int32(o)
	}
	m.objects = objects
}
