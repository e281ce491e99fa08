package redact

import "math"

// literals finds all occurrences of a fixed set of words in one pass over a text, without regard to the case of ASCII
// letters. It is the automaton of Aho and Corasick, "Efficient string matching: an aid to bibliographic search" (1975),
// with one table of transitions. Bytes that no word contains share one class, so the table stays small.
type literals struct {
	class   [256]uint8
	classes int
	next    []uint16  // the next state by state*classes+class
	ends    [][]int32 // by state, the words that end there
	sizes   []int     // by word, its length in bytes
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
	l.ends = make([][]int32, 1, total)
	for i, word := range words {
		l.add(word, int32(i))
	}
	l.link()
	return l
}

// add adds the path of a word to the trie.
func (l *literals) add(word string, id int32) {
	state := 0
	for _, b := range []byte(word) {
		at := state*l.classes + int(l.class[b])
		if l.next[at] == 0 {
			l.next[at] = uint16(len(l.ends))
			l.next = append(l.next, make([]uint16, l.classes)...)
			l.ends = append(l.ends, nil)
		}
		state = int(l.next[at])
	}
	l.ends[state] = append(l.ends[state], id)
}

// link completes the trie: every missing transition leads to the state of the longest suffix that is a path of the trie.
func (l *literals) link() {
	suffix := make([]uint16, len(l.ends))
	queue := make([]uint16, 0, len(l.ends))
	for _, child := range l.next[:l.classes] {
		if child != 0 {
			queue = append(queue, child)
		}
	}
	for len(queue) > 0 {
		state := queue[0]
		queue = queue[1:]
		fallback := suffix[state]
		l.ends[state] = append(l.ends[state], l.ends[fallback]...)
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
		for _, word := range l.ends[state] {
			found(word, i+1-l.sizes[word], i+1)
		}
	}
}
