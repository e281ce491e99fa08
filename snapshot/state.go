package snapshot

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/objstore"
)

// The names of a state's parts besides those of registered collections.
const (
	outputsPart = "outputs-" // followed by the escaped name of an output table
	inputName   = "input"
)

// State is the workflow state at one entry, with the mailbox. A State is immutable, and reads its parts when
// they are requested. A State is safe for concurrent use.
type State struct {
	r      objstore.Reader
	known  registry
	core   rowSet
	tables []table // sorted by escaped name; each has rows
	input  objstore.TreeEntry
	mail   rowSet
}

// table is one output table with its rows.
type table struct {
	name    string
	escaped string
	rows    *page.Collection
}

// EmptyState returns the state without rows and without an input.
func EmptyState() *State { return registered.emptyState() }

// emptyState returns a state without rows and without an input. The state has the collections that the registry lists.
func (known registry) emptyState() *State {
	return &State{known: known, core: known.empty(inState), mail: known.empty(inMailbox)}
}

// emptyCollection returns a collection without rows.
func emptyCollection() *page.Collection {
	empty, err := page.Open(nil, objstore.ID{})
	if err != nil {
		panic("snapshot: the empty collection does not open: " + err.Error())
	}
	return empty
}

// openState opens the state with the given parts; see [State.Parts]. It reads only the topmost object of each
// collection. The state has the collections that the registry lists. If a part has an unknown name, the error wraps
// ErrNewerFormat.
func (known registry) openState(r objstore.Reader, parts []objstore.TreeEntry) (*State, error) {
	s := known.emptyState()
	s.r = r
	for _, e := range parts {
		if err := s.openPart(e); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(s.tables, compareTables)
	return s, nil
}

// openPart opens the part that e names: the input, an output table or a registered collection. If the name is unknown,
// the error wraps ErrNewerFormat.
func (s *State) openPart(e objstore.TreeEntry) error {
	if e.Name == inputName {
		s.input = e
		return nil
	}
	if escaped, ok := strings.CutPrefix(e.Name, outputsPart); ok {
		return s.openTable(e, escaped)
	}
	for _, set := range []rowSet{s.core, s.mail} {
		if known, err := set.open(s.r, e); known || err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: the state has the unknown part %q", ErrNewerFormat, e.Name)
}

// openTable opens the output table of the tree entry e, and adds the table to s.tables. escaped is the table's name as
// in the tree. If escaped is not the escaped form of a valid name, the error wraps objstore.ErrCorrupt.
func (s *State) openTable(e objstore.TreeEntry, escaped string) error {
	name, ok := unescape(escaped, plainTable)
	if !ok || checkTable(name) != nil {
		return corrupt(e.ID, "state: malformed table name %q", escaped)
	}
	rows, err := openCollection(s.r, e)
	s.tables = append(s.tables, table{name, escaped, rows})
	return err
}

// openCollection opens the collection of a tree entry. If the mode of the entry is not the mode of the collection's
// object, or is neither a tree nor a file, the error wraps objstore.ErrCorrupt.
func openCollection(r objstore.Reader, e objstore.TreeEntry) (*page.Collection, error) {
	if e.Mode == objstore.ModeTree || e.Mode == objstore.ModeFile {
		c, err := page.Open(r, e.ID)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name, err)
		}
		if c.Entry(e.Name) == e {
			return c, nil
		}
	}
	return nil, corrupt(e.ID, "%s: mode %o", e.Name, uint32(e.Mode))
}

// compareTables orders tables by their escaped names.
func compareTables(a, b table) int { return strings.Compare(a.escaped, b.escaped) }

// Parts returns the state's parts as entries of a git tree, in no particular order: the collections with rows, and the
// input if the run has one.
func (s *State) Parts() []objstore.TreeEntry { return append(s.coreParts(), s.mail.parts()...) }

// coreParts returns the parts that the content hash covers: the collections of nodes and loops, the output tables and
// the input, but not the mailbox. Empty parts are left out.
func (s *State) coreParts() []objstore.TreeEntry {
	parts := s.core.parts()
	for _, t := range s.tables {
		parts = append(parts, t.rows.Entry(outputsPart+t.escaped))
	}
	if !s.input.ID.IsZero() {
		parts = append(parts, s.input)
	}
	return parts
}

// ID returns an id of the state and its mailbox: equal states have equal ids. If the state is empty, the id is zero.
// Otherwise, it is the id of a git tree of the parts. The tree is not stored.
func (s *State) ID() objstore.ID {
	parts := s.Parts()
	if len(parts) == 0 {
		return objstore.ID{}
	}
	return parts[0].ID.Algorithm().ID(objstore.Tree, objstore.EncodeTree(parts))
}

// Nodes returns the collection of nodes. DecodeNode decodes its rows.
func (s *State) Nodes() *page.Collection { return s.core.at(CollectionNodes) }

// Loops returns the collection of loops. DecodeLoop decodes its rows.
func (s *State) Loops() *page.Collection { return s.core.at(CollectionLoops) }

// AllNodes yields the nodes in the order of their keys, and ends with the first error.
func (s *State) AllNodes() iter.Seq2[Node, error] { return decoded(s.Nodes(), DecodeNode) }

// AllLoops yields the loops in the order of their keys, and ends with the first error.
func (s *State) AllLoops() iter.Seq2[Loop, error] { return decoded(s.Loops(), DecodeLoop) }

// Collections yields each collection of the state, with the name that a Change uses for it: nodes and loops, then the
// output tables, then the mailbox. Every output table has rows; other collections may be empty. The input is not
// included.
func (s *State) Collections() iter.Seq2[string, *page.Collection] {
	return func(yield func(string, *page.Collection) bool) {
		for name, rows := range s.core.all() {
			if !yield(name, rows) {
				return
			}
		}
		for _, t := range s.tables {
			if !yield(OutputCollection(t.name), t.rows) {
				return
			}
		}
		for name, rows := range s.mail.all() {
			if !yield(name, rows) {
				return
			}
		}
	}
}

// Outputs returns the rows of an output table. SplitKey splits the key of a row; the value of a row is the
// user's JSON. If the table does not exist, the collection is empty.
func (s *State) Outputs(table string) *page.Collection {
	if t := s.findTable(table); t != nil {
		return t.rows
	}
	return emptyCollection()
}

// collection returns the rows of a collection of the registry, or nil if the state does not have it.
func (s *State) collection(name string) *page.Collection {
	for _, set := range []rowSet{s.core, s.mail} {
		if i := set.index(name); i >= 0 {
			return set[i].Collection
		}
	}
	return nil
}

// findTable returns the output table with the name, or nil if the state has no such table.
func (s *State) findTable(name string) *table {
	for i := range s.tables {
		if s.tables[i].name == name {
			return &s.tables[i]
		}
	}
	return nil
}

// Tables returns the names of the output tables with rows, sorted. The caller may modify the slice.
func (s *State) Tables() []string {
	names := make([]string, 0, len(s.tables))
	for _, t := range s.tables {
		names = append(names, t.name)
	}
	slices.Sort(names)
	return names
}

// Input returns the run's input, byte for byte as the user gave it, or nil if the run has no input. The caller
// must not modify the bytes. A stored input that is not a single JSON value is an error that wraps
// objstore.ErrCorrupt.
func (s *State) Input() (json.RawMessage, error) {
	if s.input.ID.IsZero() {
		return nil, nil
	}
	value, err := page.ReadValue(s.r, s.input)
	if err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}
	if err := (Limits{Depth: maxDepth}).CheckValue(value); err != nil {
		return nil, corrupt(s.input.ID, "input: %v", err)
	}
	return value, nil
}

// InputID returns the id of the input's object, or the zero ID if the run has no input. Equal inputs have equal
// ids, so a caller can compare inputs without reading them.
func (s *State) InputID() objstore.ID { return s.input.ID }

// ContentHash returns the SHA-256 over the names and ids of the parts nodes, outputs, loops and input, as
// docs/format.md defines it. It reads no object, because an id identifies the content of its object.
func (s *State) ContentHash() page.Sum {
	parts := s.coreParts()
	slices.SortFunc(parts, func(a, b objstore.TreeEntry) int { return strings.Compare(a.Name, b.Name) })
	text := append(make([]byte, 0, 512), "smithers state 2\n"...)
	for _, p := range parts {
		text = append(append(text, p.Name...), ' ')
		text = append(append(text, p.ID.String()...), '\n')
	}
	return sha256.Sum256(text)
}

// Verify reads and checks all rows and the input, and returns the first flaw. sound has the collections that were found
// valid before: Verify skips the parts that a collection shares with such a collection. It adds each collection that it
// finds valid to sound. If sound is nil, Verify skips nothing.
func (s *State) Verify(sound *Sound) error {
	if sound == nil {
		sound = new(Sound)
	}
	err := s.core.verify(sound)
	for _, t := range s.tables {
		if err == nil {
			err = sound.Verify(outputsPrefix+t.name, t.rows, checkOutputKey)
		}
	}
	if err == nil {
		err = s.mail.verify(sound)
	}
	if err == nil {
		_, err = s.Input()
	}
	return err
}

// checkOutputKey returns an error that wraps objstore.ErrCorrupt if the key of a stored output is not
// nodeId::iteration.
func checkOutputKey(row page.Row) error {
	if _, _, err := SplitKey(row.Key); err != nil {
		return corrupt(objstore.ID{}, "output %q: %v", row.Key, err)
	}
	return nil
}
