package snapshot

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/objstore/page"
)

// The names in a state's tree besides the names of registered collections.
const (
	outputsName = "outputs"
	inputName   = "input"
)

// State is the workflow state at one entry, with the mailbox. A State is immutable, and reads its parts when
// they are requested. A State is safe for concurrent use.
type State struct {
	r      objstore.Reader
	id     objstore.ID
	known  registry
	core   rowSet
	tables []table // sorted by escaped name; each has rows
	input  objstore.TreeEntry
	mail   rowSet

	inputSum lazy[page.Sum]
	hash     lazy[page.Sum]
}

// table is one output table with its rows.
type table struct {
	name    string
	escaped string
	rows    *page.Collection
}

// EmptyState returns the state without rows and without an input.
func EmptyState() *State { return registered.emptyState() }

// emptyState returns the state with the collections of known, without rows and without an input.
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

// OpenState opens the state with the tree id; the zero id is the empty state. It reads the trees of the state
// and the topmost object of each collection. If the tree has an unknown name, the error wraps ErrNewerFormat;
// if an object is damaged, the error wraps objstore.ErrCorrupt.
func OpenState(r objstore.Reader, id objstore.ID) (*State, error) {
	return registered.openState(r, id)
}

// openState opens a state as OpenState does, with the collections of known.
func (known registry) openState(r objstore.Reader, id objstore.ID) (*State, error) {
	s := known.emptyState()
	if id.IsZero() {
		return s, nil
	}
	s.r, s.id = r, id
	entries, err := objstore.ReadTree(r, id)
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		return nil, corrupt(id, "state: empty tree")
	}
	for _, e := range entries {
		switch e.Name {
		case outputsName:
			err = s.openTables(id, e)
		case inputName:
			s.input = e
		default:
			err = s.openRows(id, e)
		}
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

// openRows opens the registered collection that e, an entry of the state's tree, names. If no collection has
// the name, the error wraps ErrNewerFormat.
func (s *State) openRows(tree objstore.ID, e objstore.TreeEntry) error {
	for _, set := range []rowSet{s.core, s.mail} {
		if known, err := set.open(s.r, tree, e); known || err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: %q in state %v", ErrNewerFormat, e.Name, tree)
}

// openCollection opens the collection of the tree entry e. If the mode of e does not fit the collection, the
// error wraps objstore.ErrCorrupt and names tree.
func openCollection(r objstore.Reader, tree objstore.ID, e objstore.TreeEntry) (*page.Collection, error) {
	if e.Mode == objstore.ModeTree || e.Mode == objstore.ModeFile {
		c, err := page.Open(r, e.ID)
		if err != nil || c.Entry(e.Name) == e {
			return c, err
		}
	}
	return nil, corrupt(tree, "%s: mode %o", e.Name, uint32(e.Mode))
}

// openTables opens the output tables below outputs, an entry of the state's tree, and sets s.tables. An empty
// tree or a malformed name is an error that wraps objstore.ErrCorrupt.
func (s *State) openTables(tree objstore.ID, outputs objstore.TreeEntry) error {
	if outputs.Mode != objstore.ModeTree {
		return corrupt(tree, "outputs: not a tree")
	}
	entries, err := objstore.ReadTree(s.r, outputs.ID)
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		return corrupt(outputs.ID, "outputs: empty tree")
	}
	s.tables = make([]table, 0, len(entries))
	for _, e := range entries {
		name, ok := unescape(e.Name, plainTable)
		if !ok || checkTable(name) != nil {
			return corrupt(outputs.ID, "outputs: malformed table name %q", e.Name)
		}
		rows, err := openCollection(s.r, outputs.ID, e)
		if err != nil {
			return err
		}
		s.tables = append(s.tables, table{name, e.Name, rows})
	}
	slices.SortFunc(s.tables, compareTables)
	return nil
}

// compareTables orders tables by their escaped names.
func compareTables(a, b table) int { return strings.Compare(a.escaped, b.escaped) }

// ID returns the id of the state's tree, or the zero ID if the state is empty. Equal states have equal IDs.
func (s *State) ID() objstore.ID { return s.id }

// Nodes returns the collection of nodes. DecodeNode decodes its rows.
func (s *State) Nodes() *page.Collection { return s.core.at(CollectionNodes) }

// Loops returns the collection of loops. DecodeLoop decodes its rows.
func (s *State) Loops() *page.Collection { return s.core.at(CollectionLoops) }

// AllNodes yields the nodes in the order of their keys, and ends with the first error.
func (s *State) AllNodes() iter.Seq2[Node, error] { return decoded(s.Nodes(), DecodeNode) }

// AllLoops yields the loops in the order of their keys, and ends with the first error.
func (s *State) AllLoops() iter.Seq2[Loop, error] { return decoded(s.Loops(), DecodeLoop) }

// Collections yields each collection of the state with its name in a Change: nodes and loops, then the output
// tables, then the mailbox. Every output table has rows; other collections may be empty. The input is not
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

// findTable returns the output table with the name, or nil if the state has no such table.
func (s *State) findTable(name string) *table {
	for i := range s.tables {
		if s.tables[i].name == name {
			return &s.tables[i]
		}
	}
	return nil
}

// Tables returns the names of the output tables with rows, sorted. The caller owns the slice.
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

// ContentHash returns the SHA-256 over nodes, outputs, loops and input, as docs/format.md defines it. The first
// call reads the topmost sums of each collection and the input; later calls read nothing.
func (s *State) ContentHash() (page.Sum, error) { return s.hash.get(s.computeHash) }

// computeHash computes the content hash from the sums of the collections with rows, and from the hash of the
// input.
func (s *State) computeHash() (page.Sum, error) {
	text := append(make([]byte, 0, 512), "smithers state 1\n"...)
	add := func(name string, c *page.Collection) error {
		if c.Len() == 0 {
			return nil
		}
		sum, err := c.Sum()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		text = append(append(text, name...), ' ')
		text = append(strconv.AppendInt(text, int64(c.Len()), 10), ' ')
		text = append(hex.AppendEncode(text, sum[:]), '\n')
		return nil
	}
	for name, c := range s.core.all() {
		if err := add(name, c); err != nil {
			return page.Sum{}, err
		}
		if name != CollectionNodes { // the output tables follow the nodes, as docs/format.md defines
			continue
		}
		for _, t := range s.tables {
			if err := add(outputsPrefix+t.escaped, t.rows); err != nil {
				return page.Sum{}, err
			}
		}
	}
	if !s.input.ID.IsZero() {
		sum, err := s.inputSum.get(func() (page.Sum, error) {
			input, err := s.Input()
			return sha256.Sum256(input), err
		})
		if err != nil {
			return page.Sum{}, err
		}
		text = append(hex.AppendEncode(append(text, "input "...), sum[:]), '\n')
	}
	return sha256.Sum256(text), nil
}

// Verify reads and checks all rows and the input, and returns the first flaw. It skips the parts that a
// collection shares with a valid collection in sound, and adds each valid collection to sound. sound may be
// nil.
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
