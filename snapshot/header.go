package snapshot

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/snapshot/row"
	"github.com/git-smithers/git-smithers/objstore"
)

// NoFrame is the frame number of an entry that is not a frame.
const NoFrame int64 = -1

// formatVersion is the version of the format that this package writes and reads.
const formatVersion = 2

// author is the author and committer of every entry. It does not depend on the machine or the user, so a history that
// is written twice has the same ids.
const author = "git-smithers <git-smithers@localhost.invalid>"

// MaxOperation is the largest size of an operation's id in bytes.
const MaxOperation = 1024

// Header is the data in an entry's commit. It suffices to list a run without reading a tree. A frame drops the frames
// between Based and itself.
type Header struct {
	Run         string      // run id
	Frame       int64       // the frame's number; NoFrame for an entry that is not a frame
	Newest      int64       // the number of the run's newest frame; equal to Frame if the entry is a frame
	NextSeq     int64       // the Seq of the run's next event: the number of events so far
	ContentHash page.Sum    // the hash of the entry's state; see State.ContentHash
	AtMs        int64       // milliseconds since 1970; the commit's dates are the whole seconds, in UTC
	Subject     string      // one line for git log
	VCS         string      // summary of vcs.json: "git:<commit>" or "jj:<change>@<commit>"; "" if there is none
	Based       *int64      // the frame that this frame continues; nil for the previous frame, NoFrame for no frame
	IDs         []string    // the ids that the writer gave the frame, sorted, each once; only a frame has ids
	Operation   string      // the id of the append that wrote the entry, to recognize a repeated append; "" if there is none
	Parent      objstore.ID // the previous entry; zero for a run's first
	Base        objstore.ID // a parent commit outside the chain, only in a run's first entry; zero for no such parent
	Tree        objstore.ID // the tree with the entry's parts
	Extra       string      // other headers of the commit, such as a signature; kept unchanged and not interpreted
}

// EncodeHeader returns the commit object of an entry. DecodeHeader is its strict inverse. EncodeHeader reduces
// the subject to one line of at most 200 bytes without control characters. At most one of Parent and Base may
// be set.
func EncodeHeader(h Header) []byte {
	h.Subject = cleanSubject(h.Subject)
	return h.encode()
}

// encode returns the commit object of an entry with h.Subject as its subject, unchanged.
func (h Header) encode() []byte {
	seconds := strconv.FormatInt(h.AtMs/1000, 10)
	b := make([]byte, 0, 640)
	line := func(parts ...string) {
		for _, p := range parts {
			b = append(b, p...)
		}
		b = append(b, '\n')
	}
	line("tree ", h.Tree.String())
	if parent := h.onlyParent(); !parent.IsZero() {
		line("parent ", parent.String())
	}
	line("author ", author, " ", seconds, " +0000")
	line("committer ", author, " ", seconds, " +0000")
	b = append(b, h.Extra...)
	line()
	line(h.Subject)
	line()
	line("Smithers-Format: ", strconv.Itoa(formatVersion))
	line("Smithers-Run: ", escape(h.Run, plainRun))
	if h.Frame != NoFrame {
		line("Smithers-Frame: ", strconv.FormatInt(h.Frame, 10))
	} else {
		line("Smithers-Newest: ", strconv.FormatInt(h.Newest, 10))
	}
	if h.Based != nil {
		line("Smithers-Based: ", basedText(*h.Based))
	}
	for _, id := range h.IDs {
		line("Smithers-Id: ", escape(id, plainRun))
	}
	line("Smithers-Events: ", strconv.FormatInt(h.NextSeq, 10))
	line("Smithers-Time: ", strconv.FormatInt(h.AtMs, 10))
	line("Smithers-Content-Hash: ", hex.EncodeToString(h.ContentHash[:]))
	if h.VCS != "" {
		line("Smithers-Vcs: ", h.VCS)
	}
	if h.Operation != "" {
		line("Smithers-Operation: ", escape(h.Operation, plainRun))
	}
	if !h.Base.IsZero() {
		line("Smithers-Base: ", h.Base.String())
	}
	return b
}

// noBased is the value of the trailer Smithers-Based for a frame that continues no other frame.
const noBased = "none"

// basedText returns the value of the trailer Smithers-Based: the frame's number, or "none" for NoFrame.
func basedText(frame int64) string {
	if frame == NoFrame {
		return noBased
	}
	return strconv.FormatInt(frame, 10)
}

// parseBased reverses basedText: it returns the frame for which basedText returns text. If text is "", the trailer is
// missing, and the result is nil. If text is neither "none" nor an integer, parseBased returns an error.
func parseBased(text string) (*int64, error) {
	switch text {
	case "":
		return nil, nil
	case noBased:
		return new(NoFrame), nil
	}
	frame, err := strconv.ParseInt(text, 10, 64)
	return &frame, err
}

// onlyParent returns the parent of the commit: Parent or, if Parent is zero, Base. The result is zero if the
// commit has no parent.
func (h Header) onlyParent() objstore.ID {
	if h.Parent.IsZero() {
		return h.Base
	}
	return h.Parent
}

// DecodeHeader decodes data, the commit object of an entry. id is the object's id, for errors. If data has another
// version of the format, the error wraps ErrNewerFormat or ErrOlderFormat. If EncodeHeader would not have written
// data, the error wraps objstore.ErrCorrupt. A subject may have characters that only another version of Unicode
// assigns; see checkSubject.
func DecodeHeader(id objstore.ID, data []byte) (Header, error) {
	head, message, found := bytes.Cut(data, []byte("\n\n"))
	if !found {
		return Header{}, corrupt(id, "entry: commit without a message")
	}
	if err := checkFormat(message); err != nil {
		return Header{}, fmt.Errorf("the entry in commit %v: %w", id, err)
	}
	var h Header
	parent, err := h.decodeCommit(string(head))
	if err == nil {
		err = h.decodeMessage(string(message), parent)
	}
	if err == nil {
		err = h.check()
	}
	if err == nil {
		err = checkSubject(h.Subject)
	}
	if err == nil && !bytes.Equal(h.encode(), data) {
		err = row.ErrNotCanonical
	}
	if err != nil {
		return Header{}, corrupt(id, "entry: %v", err)
	}
	return h, nil
}

// checkFormat returns an error if message, a commit message, has another version of the format. For a later version,
// the error wraps ErrNewerFormat. For an earlier version, it wraps ErrOlderFormat. A message without a version is
// not an error.
func checkFormat(message []byte) error {
	version, ok := formatOf(message)
	switch {
	case ok && version > formatVersion:
		return fmt.Errorf("%w: format %d", ErrNewerFormat, version)
	case ok && version < formatVersion:
		return fmt.Errorf("%w: format %d", ErrOlderFormat, version)
	}
	return nil
}

// formatOf returns the version of the format in a commit message, and true. It returns false if the message has no
// line with a version, or if the version is not a number. The rest of the message may have an unknown form.
func formatOf(message []byte) (int64, bool) {
	version, err := strconv.ParseInt(trailer(message, "Smithers-Format: "), 10, 64)
	return version, err == nil
}

// trailer returns the value of the first line in message that begins with one of prefixes. If there is no such line,
// trailer returns "".
func trailer(message []byte, prefixes ...string) string {
	for line := range bytes.Lines(message) {
		for _, prefix := range prefixes {
			if value, ok := bytes.CutPrefix(line, []byte(prefix)); ok {
				return string(bytes.TrimSuffix(value, []byte("\n")))
			}
		}
	}
	return ""
}

// errNotEntry is the error about a commit that EncodeHeader cannot have written.
var errNotEntry = errors.New("not the commit of an entry")

// decodeCommit decodes text, the lines of a commit above its message, and sets h.Tree and h.Extra. It returns the
// commit's parent, or the zero ID if the commit has no parent. If a line is missing or invalid, the error is
// errNotEntry. decodeCommit does not check the author and the dates: DecodeHeader checks them when it compares the
// encoding of h with the commit.
func (h *Header) decodeCommit(text string) (parent objstore.ID, err error) {
	lines := lineReader{text + "\n"}
	if h.Tree, err = objstore.ParseID(lines.field("tree ")); err != nil {
		return objstore.ID{}, errNotEntry
	}
	if value := lines.field("parent "); value != "" {
		if parent, err = objstore.ParseID(value); err != nil || parent.IsZero() {
			return objstore.ID{}, errNotEntry
		}
	}
	if lines.field("author ") == "" || lines.field("committer ") == "" {
		return objstore.ID{}, errNotEntry
	}
	h.Extra = lines.rest
	return parent, nil
}

// decodeMessage decodes text, the message of a commit, and sets the fields of h that decodeCommit does not set.
// parent is the commit's parent. If the message has the trailer Smithers-Base, the trailer must name parent, which
// becomes h.Base. Otherwise parent becomes h.Parent. If the message is not that of an entry, the error is
// errNotEntry.
func (h *Header) decodeMessage(text string, parent objstore.ID) (err error) {
	lines := lineReader{text} // field returns "" for an optional trailer that is missing
	h.Subject = lines.field("")
	if lines.field("") != "" || lines.field("Smithers-Format: ") != strconv.Itoa(formatVersion) {
		return errNotEntry
	}
	run, runOK := unescape(lines.field("Smithers-Run: "), plainRun)
	h.Run = run
	frameErr := h.decodeFrame(&lines)
	var basedErr error
	h.Based, basedErr = parseBased(lines.field("Smithers-Based: "))
	idsOK := h.decodeIDs(&lines)
	next, nextErr := strconv.ParseInt(lines.field("Smithers-Events: "), 10, 64)
	h.NextSeq = next
	at, atErr := strconv.ParseInt(lines.field("Smithers-Time: "), 10, 64)
	h.AtMs = at
	sum, sumErr := hex.DecodeString(lines.field("Smithers-Content-Hash: "))
	// The result of copy is too small if the hash is too short. DecodeHeader detects a hash that is too long, because
	// it compares the encoding of h with the commit.
	if !runOK || !idsOK || frameErr != nil || basedErr != nil || nextErr != nil || atErr != nil || sumErr != nil || copy(h.ContentHash[:], sum) != len(h.ContentHash) {
		return errNotEntry
	}
	h.VCS = lines.field("Smithers-Vcs: ")
	operation, ok := unescape(lines.field("Smithers-Operation: "), plainRun)
	if !ok {
		return errNotEntry
	}
	h.Operation = operation
	h.Parent = parent
	if base := lines.field("Smithers-Base: "); base != "" {
		if base != parent.String() || parent.IsZero() {
			return errNotEntry
		}
		h.Base, h.Parent = parent, objstore.ID{}
	}
	return nil
}

// decodeFrame reads the trailer Smithers-Frame or, in an entry that is not a frame, Smithers-Newest from lines. It
// sets h.Frame and h.Newest. If the number is missing or invalid, decodeFrame returns an error.
func (h *Header) decodeFrame(lines *lineReader) (err error) {
	if frame := lines.field("Smithers-Frame: "); frame != "" {
		h.Frame, err = strconv.ParseInt(frame, 10, 64)
		h.Newest = h.Frame
		return err
	}
	h.Frame = NoFrame
	h.Newest, err = strconv.ParseInt(lines.field("Smithers-Newest: "), 10, 64)
	return err
}

// lineReader reads lines from the front of a text. rest is the part of the text that is still unread.
type lineReader struct{ rest string }

// field removes the next line from the text if the line begins with prefix, and returns the rest of the line.
// If the line does not begin with prefix or has no LF, field removes nothing and returns "".
func (l *lineReader) field(prefix string) string {
	line, rest, found := strings.Cut(l.rest, "\n")
	value, ok := strings.CutPrefix(line, prefix)
	if !found || !ok {
		return ""
	}
	l.rest = rest
	return value
}

// check returns an error if the header cannot be stored: if a required field is missing, a field is invalid or out of
// range, or two fields contradict each other.
func (h Header) check() error {
	switch {
	case h.Tree.IsZero():
		return errors.New("no tree")
	case !h.Parent.IsZero() && !h.Base.IsZero():
		return errors.New("base: set in an entry with a parent")
	case h.Frame < NoFrame || h.Frame > row.MaxInteger:
		return fmt.Errorf("frame %d: out of range", h.Frame)
	case h.Newest < 0 || h.Newest > row.MaxInteger || h.Frame != NoFrame && h.Newest != h.Frame:
		return fmt.Errorf("newest frame %d: out of range, or not the frame itself", h.Newest)
	case h.NextSeq < 0 || h.NextSeq > row.MaxInteger:
		return fmt.Errorf("events %d: out of range", h.NextSeq)
	case h.Based != nil && (*h.Based < NoFrame || *h.Based >= h.Frame-1):
		return fmt.Errorf("based on frame %d: the entry must be a frame, at least two frames after the base", *h.Based)
	case !isTime(h.AtMs):
		return fmt.Errorf("time %d: out of range", h.AtMs)
	case !isSummary(h.VCS):
		return fmt.Errorf("vcs %q: not a revision", h.VCS)
	}
	if err := checkOperation(h.Operation); err != nil {
		return err
	}
	if err := h.checkIDs(); err != nil {
		return err
	}
	if err := checkRunID(h.Run); err != nil {
		return fmt.Errorf("run: %w", err)
	}
	return nil
}

// checkOperation returns an error if name cannot be the id of an operation: if name is longer than MaxOperation, or
// not UTF-8.
func checkOperation(name string) error {
	if len(name) > MaxOperation || !utf8.ValidString(name) {
		return fmt.Errorf("operation: larger than %d bytes, or not UTF-8", MaxOperation)
	}
	return nil
}
