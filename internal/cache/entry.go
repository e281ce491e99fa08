package cache

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/consent"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/timeline"
)

// Bounds of an entry.
const (
	MaxFiles     = 10_000   // changed files
	maxEntry     = 8 << 20  // bytes of entry.json
	MaxOutput    = 64 << 20 // bytes of the output
	entryFile    = "entry.json"
	outputFile   = "output.json"
	filesFolder  = "files"
	removedState = "" // of a file that does not exist
)

// Entry is the result of an attempt, with its key.
type Entry struct {
	Sum string // of Key
	Key Key

	// Where the result is from: the frame that has it, and the attempt.
	Run       string
	Frame     int64
	Iteration int
	Attempt   int

	CreatedAtMs int64  // when the attempt ended, in Unix milliseconds
	TookMs      int64  // how long the attempt took
	Table       string // of the output; "" if the task has none
	SchemaSig   string // Smithers' signature of the table; "" if the task has no output
	Output      json.RawMessage
	Files       []jjbridge.FileEdit // the files that the attempt changed, sorted by path
	Bytes       int64               // of the output and of the changed files
	Own         bool                // this clone stored the entry; false in an entry of another clone, which nobody vouches for
}

// Workflow returns the name of the workflow whose task made the entry.
func (e *Entry) Workflow() string { return e.Key[PartWorkflow] }

// Node returns the id of the task that made the entry.
func (e *Entry) Node() string { return e.Key[PartNode] }

// From returns the address of the frame that has the result.
func (e *Entry) From() timeline.Address { return timeline.Address{Run: e.Run, Frame: e.Frame} }

// entryDocument is the content of entry.json.
type entryDocument struct {
	Key         Key          `json:"key"`
	Run         string       `json:"runId"`
	Frame       int64        `json:"frame"`
	Iteration   int          `json:"iteration"`
	Attempt     int          `json:"attempt"`
	CreatedAtMs int64        `json:"createdAtMs"`
	TookMs      int64        `json:"tookMs"`
	Table       string       `json:"table,omitempty"`
	SchemaSig   string       `json:"schemaSig,omitempty"`
	Output      string       `json:"output,omitempty"` // the SHA-256 of output.json
	Bytes       int64        `json:"bytes"`
	Files       []fileChange `json:"files,omitempty"`
	Seal        string       `json:"seal"` // see entryDocument.sealed
}

// fileChange is a changed file in entry.json. Its states are "MODE ID", as git writes them, or "" for no file. The file in the folder
// files with the number of its place in the list is the new one.
type fileChange struct {
	Path string `json:"path"`
	Was  string `json:"was"`
	Now  string `json:"now"`
}

// ErrAltered is wrapped by errors about an entry that is not as this program wrote it.
var ErrAltered = errors.New("the entry was altered")

// encode adds the objects of an entry, sealed with key, to w and returns the id of its folder.
func (e *Entry) encode(w objstore.Writer, key []byte) objstore.ID {
	doc := entryDocument{
		Key: e.Key, Run: e.Run, Frame: e.Frame, Iteration: e.Iteration, Attempt: e.Attempt, CreatedAtMs: e.CreatedAtMs, TookMs: e.TookMs,
		Table: e.Table, SchemaSig: e.SchemaSig, Bytes: e.Bytes,
	}
	var folder, files []objstore.TreeEntry
	if e.Output != nil {
		doc.Output = Digest(e.Output)
		folder = append(folder, objstore.TreeEntry{Name: outputFile, Mode: objstore.ModeFile, ID: w.Add(objstore.Blob, slices.Clone(e.Output))})
	}
	for i, f := range e.Files {
		doc.Files = append(doc.Files, fileChange{f.Path, formatState(f.Was), formatState(f.Now)})
		if f.Now.Mode != 0 {
			files = append(files, objstore.TreeEntry{Name: strconv.Itoa(i), Mode: f.Now.Mode, ID: f.Now.ID})
		}
	}
	if len(files) > 0 {
		folder = append(folder, objstore.TreeEntry{Name: filesFolder, Mode: objstore.ModeTree, ID: w.Add(objstore.Tree, objstore.EncodeTree(files))})
	}
	doc.Seal = consent.Seal(key, doc.sealed())
	text, _ := json.MarshalIndent(doc, "", "  ") //nolint:errchkjson // texts and numbers encode always
	folder = append(folder, objstore.TreeEntry{Name: entryFile, Mode: objstore.ModeFile, ID: w.Add(objstore.Blob, append(text, '\n'))})
	return w.Add(objstore.Tree, objstore.EncodeTree(folder))
}

// decode reads the entry in a folder. sum is the name of the folder. If the folder is not one that encode wrote, the error wraps
// ErrAltered. With whole, decode also reads the output. key is the clone's key, or nil.
func decode(r objstore.Reader, key []byte, sum string, folder objstore.ID, whole bool) (*Entry, error) {
	parts, err := objstore.ReadTree(r, folder)
	if err != nil {
		return nil, err
	}
	at, ok := objstore.FindEntry(parts, entryFile)
	if !ok {
		return nil, altered(sum, "it has no "+entryFile)
	}
	text, err := objstore.GetBlob(r, at.ID, maxEntry)
	if err != nil {
		return nil, err
	}
	var doc entryDocument
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&doc); err != nil {
		return nil, altered(sum, err.Error())
	}
	e := &Entry{
		Sum: sum, Key: doc.Key, Run: doc.Run, Frame: doc.Frame, Iteration: doc.Iteration, Attempt: doc.Attempt, CreatedAtMs: doc.CreatedAtMs,
		TookMs: doc.TookMs, Table: doc.Table, SchemaSig: doc.SchemaSig, Bytes: doc.Bytes,
		Own: consent.Fits(key, doc.sealed(), doc.Seal),
	}
	if e.Key.Sum() != sum {
		return nil, altered(sum, "it has another key")
	}
	if e.Files, err = decodeFiles(r, parts, doc.Files); err != nil {
		return nil, altered(sum, err.Error())
	}
	at, ok = objstore.FindEntry(parts, outputFile)
	if ok != (doc.Output != "") {
		return nil, altered(sum, "its output is missing, or is not its own")
	}
	if !ok || !whole {
		return e, nil
	}
	if e.Output, err = objstore.GetBlob(r, at.ID, MaxOutput); err != nil {
		return nil, err
	}
	if Digest(e.Output) != doc.Output {
		return nil, altered(sum, "it has another output")
	}
	return e, nil
}

// altered returns an error about the entry with a sum.
func altered(sum, why string) error {
	return fmt.Errorf("cache entry %s: %w: %s", sum, ErrAltered, why)
}

// decodeFiles decodes the changed files of an entry. parts is the entry's folder.
func decodeFiles(r objstore.Reader, parts []objstore.TreeEntry, changes []fileChange) ([]jjbridge.FileEdit, error) {
	if len(changes) > MaxFiles {
		return nil, errors.New("it has too many files")
	}
	var stored []objstore.TreeEntry
	if at, ok := objstore.FindEntry(parts, filesFolder); ok {
		var err error
		if stored, err = objstore.ReadTree(r, at.ID); err != nil {
			return nil, err
		}
	}
	var files []jjbridge.FileEdit
	for i, c := range changes {
		was, errWas := parseState(c.Was)
		now, errNow := parseState(c.Now)
		if err := errors.Join(errWas, errNow, checkPath(c.Path)); err != nil {
			return nil, err
		}
		if i > 0 && c.Path <= changes[i-1].Path || was == now {
			return nil, fmt.Errorf("%q is not in its place", c.Path)
		}
		if at, ok := objstore.FindEntry(stored, strconv.Itoa(i)); ok != (now.Mode != 0) || ok && (jjbridge.FileState{Mode: at.Mode, ID: at.ID}) != now {
			return nil, fmt.Errorf("%q is not the file that was stored", c.Path)
		}
		files = append(files, jjbridge.FileEdit{Path: c.Path, Was: was, Now: now})
	}
	return files, nil
}

// checkPath returns an error if a path is not one that git has in a tree.
func checkPath(path string) error {
	for name := range strings.SplitSeq(path, "/") {
		if name == "" || name == "." || name == ".." || strings.EqualFold(name, ".git") || strings.EqualFold(name, ".jj") || strings.ContainsAny(name, "\x00\\") {
			return fmt.Errorf("%q is not the path of a file", path)
		}
	}
	return nil
}

// formatState returns the text of a file's state in entry.json.
func formatState(s jjbridge.FileState) string {
	if s.Mode == 0 {
		return removedState
	}
	return fmt.Sprintf("%06o %s", uint32(s.Mode), s.ID)
}

// parseState reverses formatState. A state of anything but a file or a symbolic link is an error.
func parseState(text string) (jjbridge.FileState, error) {
	if text == removedState {
		return jjbridge.FileState{}, nil
	}
	mode, digits, _ := strings.Cut(text, " ")
	number, errMode := strconv.ParseUint(mode, 8, 32)
	id, errID := objstore.ParseID(digits)
	s := jjbridge.FileState{Mode: objstore.Mode(number), ID: id}
	if err := errors.Join(errMode, errID); err != nil {
		return jjbridge.FileState{}, err
	}
	file := s.Mode == objstore.ModeFile || s.Mode == objstore.ModeExecutable || s.Mode == objstore.ModeSymlink
	if file && formatState(s) == text && !id.IsZero() {
		return s, nil
	}
	return jjbridge.FileState{}, fmt.Errorf("%q is not the state of a file", text)
}

// sealed returns the text that the seal of an entry covers: the document without its seal.
func (d entryDocument) sealed() []byte {
	d.Seal = ""
	text, _ := json.Marshal(d) //nolint:errchkjson // texts and numbers encode always
	return text
}
