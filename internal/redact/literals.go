package redact

import "math"

// literals finds all occurrences of a fixed set of words in one pass over a text, without regard to the case of ASCII
// letters. It is the automaton of Aho and Corasick, "Efficient string matching: an aid to bibliographic search" (1975),
// with one table of transitions. Bytes that no word contains share one class, so the table stays small.
type literals struct {
	class   [256]uint8
	classes int
	next    []uint16 // the next state by state*classes+class
	words   []int32  // by state, the word that ends there, or -1
	first   []uint16 // by state, the state of its longest suffix in which a word ends, itself if it can be, or 0
	more    []uint16 // by state, the same without itself
	sizes   []int    // by word, its length in bytes
}

// newLiterals returns the automaton of words, which must be lower-case and not empty. The words together must have fewer
// than 65,535 bytes.
func newLiterals(words []string) *literals {
	l := &literals{classes: 1}
	total := 1
	for _, word := range words {
		total += len(word)
		l.sizes = append(l.sizes, len(word))
		for _, b := range []byte(word) {
			if l.class[b] == 0 {
				l.class[b] = uint8(l.classes)
				l.classes++
			}
		}
	}
	if total > math.MaxUint16 {
		panic("redact: too many literals") // a bug: the callers bound the words
	}
	for b := byte('A'); b <= 'Z'; b++ {
		l.class[b] = l.class[b|0x20]
	}
	l.next = make([]uint16, l.classes, total*l.classes)
	l.words = append(make([]int32, 0, total), -1)
	for i, word := range words {
		l.add(word, int32(i))
	}
	l.link()
	return l
}

// add adds the path of a word to the trie. It must be a word of its own.
func (l *literals) add(word string, id int32) {
	state := 0
	for _, b := range []byte(word) {
		at := state*l.classes + int(l.class[b])
		if l.next[at] == 0 {
			l.next[at] = uint16(len(l.words))
			l.next = l.next[:len(l.next)+l.classes]
			l.words = append(l.words, -1)
		}
		state = int(l.next[at])
	}
	l.words[state] = id
}

// link completes the trie: every missing transition leads to the state of the longest suffix that is a path of the trie.
func (l *literals) link() {
	suffix, queue := make([]uint16, len(l.words)), make([]uint16, 0, len(l.words))
	l.first, l.more = make([]uint16, len(l.words)), make([]uint16, len(l.words))
	for _, child := range l.next[:l.classes] {
		if child != 0 {
			queue = append(queue, child)
		}
	}
	for len(queue) > 0 {
		state := queue[0]
		queue = queue[1:]
		fallback := suffix[state]
		l.first[state], l.more[state] = l.first[fallback], l.first[fallback]
		if l.words[state] >= 0 {
			l.first[state] = state
		}
		for c := range l.classes {
			at, beyond := int(state)*l.classes+c, l.next[int(fallback)*l.classes+c]
			if child := l.next[at]; child != 0 {
				suffix[child] = beyond
				queue = append(queue, child)
			} else {
				l.next[at] = beyond
			}
		}
	}
}

// find calls found for each occurrence of a word in text, in the order of the ends. The occurrence is text[start:end].
func (l *literals) find(text []byte, found func(word int32, start, end int)) {
	state := 0
	for i, b := range text {
		state = int(l.next[state*l.classes+int(l.class[b])])
		for at := l.first[state]; at != 0; at = l.more[at] {
			word := l.words[at]
			found(word, i+1-l.sizes[word], i+1)
		}
	}
}
