package rendered

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot/row"
)

// The encodings of a frame.
const (
	encodingFull     = "full"     // the whole tree, after no other tree
	encodingDelta    = "delta"    // ops on the previous tree
	encodingKeyframe = "keyframe" // the whole tree, instead of a delta on the previous tree
)

// maxBlob is the maximum size of a frame's blob: a tree and the line before it.
const maxBlob = page.MaxValue + 1<<10

// maxDeltas is the maximum number of deltas between two whole trees.
const maxDeltas = 49

// frameBlob is the file "frame" of an entry.
type frameBlob struct {
	id       objstore.ID // the blob's own id
	encoding string
	deltas   int         // number of deltas since the last whole tree, including this blob
	sum      page.Sum    // hash of the canonical rendered tree
	base     objstore.ID // the blob that a delta builds on
	payload  []byte
}

// readFrameBlob reads and decodes a blob.
func readFrameBlob(r objstore.Reader, id objstore.ID) (frameBlob, error) {
	data, err := objstore.GetBlob(r, id, maxBlob)
	if err != nil {
		return frameBlob{}, err
	}
	return decodeFrameBlob(id, data)
}

// encode returns the bytes of the blob.
func (b frameBlob) encode() []byte {
	out := make([]byte, 0, len(b.payload)+160)
	out = append(append(out, b.encoding...), ' ')
	out = append(strconv.AppendInt(out, int64(b.deltas), 10), ' ')
	out = hex.AppendEncode(out, b.sum[:])
	if b.encoding == encodingDelta {
		out = append(append(out, ' '), b.base.String()...)
	}
	out = append(append(out, '\n'), b.payload...)
	return append(out, '\n')
}

// decodeFrameBlob is the strict inverse of encode. It verifies the payload of a whole tree. The payload
// of a delta can be verified only with the blob that it builds on.
func decodeFrameBlob(id objstore.ID, data []byte) (frameBlob, error) {
	head, payload, _ := bytes.Cut(data, []byte{'\n'})
	payload, ok := bytes.CutSuffix(payload, []byte{'\n'})
	if !ok {
		return frameBlob{}, corrupt(id, "frame: no payload in a line of its own")
	}
	b := frameBlob{id: id, payload: payload}
	err := b.decodeHead(string(head))
	if err == nil && !bytes.Equal(b.encode(), data) {
		err = row.ErrNotCanonical
	}
	if err == nil {
		err = checkPayload(payload)
	}
	if err == nil && b.encoding != encodingDelta {
		err = b.checkWhole()
	}
	if err != nil {
		return frameBlob{}, corrupt(id, "frame: %v", err)
	}
	return b, nil
}

// checkPayload returns why a payload cannot be a tree or a delta.
func checkPayload(payload []byte) error {
	switch {
	case len(payload) > page.MaxValue:
		return fmt.Errorf("%d bytes, at most %d are kept", len(payload), page.MaxValue)
	case !jsontext.Valid(payload):
		return errors.New("not one JSON value in UTF-8 without space around it, or nested too deep")
	}
	return nil
}

// decodeHead reads the first line: the encoding, the number of deltas, the hash and, in a delta, the base.
func (b *frameBlob) decodeHead(line string) (err error) {
	fields := strings.Split(line, " ")
	want := 3
	if b.encoding = fields[0]; b.encoding == encodingDelta {
		want = 4
	}
	if len(fields) != want {
		return errors.New("malformed first line")
	}
	if b.deltas, err = strconv.Atoi(fields[1]); err != nil {
		return errors.New("malformed first line")
	}
	sum, err := hex.DecodeString(fields[2])
	if err != nil || copy(b.sum[:], sum) != len(b.sum) {
		return errors.New("malformed digest")
	}
	switch b.encoding {
	case encodingFull, encodingKeyframe:
		if b.deltas != 0 {
			return fmt.Errorf("%s with the number %d", b.encoding, b.deltas)
		}
		return nil
	case encodingDelta:
		if b.deltas < 1 || b.deltas > maxDeltas {
			return fmt.Errorf("delta with the number %d", b.deltas)
		}
		b.base, err = objstore.ParseID(fields[3])
		return err
	}
	return fmt.Errorf("unknown encoding %q", b.encoding)
}

// checkWhole verifies the payload of a whole tree.
func (b *frameBlob) checkWhole() error {
	tree, err := Parse(b.payload)
	switch {
	case err != nil:
		return err
	case tree == nil:
		return errors.New("the null tree has no frame")
	case !bytes.Equal(tree.Append(nil), b.payload):
		return row.ErrNotCanonical
	case page.Sum(sha256.Sum256(b.payload)) != b.sum:
		return errors.New("the tree does not have this digest")
	}
	return nil
}

// corrupt returns the error about a blob that this package has not written.
func corrupt(id objstore.ID, format string, args ...any) error {
	return &objstore.CorruptError{ID: id, Reason: fmt.Sprintf(format, args...)}
}
