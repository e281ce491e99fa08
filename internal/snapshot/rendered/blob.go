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
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/snapshot/row"
	"github.com/git-smithers/git-smithers/objstore"
)

// The encodings of a frame.
const (
	encodingFull     = "full"     // the whole tree, the first tree of a series
	encodingDelta    = "delta"    // the ops that turn the previous tree into this tree
	encodingKeyframe = "keyframe" // the whole tree, although there is a previous tree
)

// encodings are all of them.
var encodings = [...]string{encodingFull, encodingKeyframe, encodingDelta}

// maxBlob is the maximum size of a frame's blob in bytes: the payload, and the line before the payload.
const maxBlob = page.MaxValue + 1<<10

// maxDeltas is the maximum number of deltas between two whole trees.
const maxDeltas = 49

// frameBlob is the decoded file "frame" of an entry.
type frameBlob struct {
	id       objstore.ID // the blob's own id
	encoding string
	deltas   int         // number of deltas since the last whole tree, including this blob
	sum      page.Sum    // the digest: the SHA-256 of the canonical rendered tree
	base     objstore.ID // the blob that a delta builds on; zero for a whole tree
	payload  []byte      // the canonical JSON of the tree, or of the delta
}

// readFrameBlob reads and decodes the blob with the given id. If encode would not have written the blob, the error
// wraps objstore.ErrCorrupt.
func readFrameBlob(r objstore.Reader, id objstore.ID) (frameBlob, error) {
	data, err := objstore.GetBlob(r, id, maxBlob)
	if err != nil {
		return frameBlob{}, err
	}
	return decodeFrameBlob(id, data)
}

// encode returns the content of the blob, which has two lines. The first line has the encoding, the number of deltas,
// the digest and, for a delta, the base. The second line has the payload.
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

// decodeFrameBlob decodes data, the content of the blob with the given id. If encode would not have written data, the
// error wraps objstore.ErrCorrupt. For a whole tree, decodeFrameBlob also checks the digest. For a delta, only
// frame.advance can check the digest, because it needs the base.
func decodeFrameBlob(id objstore.ID, data []byte) (frameBlob, error) {
	head, payload, _ := bytes.Cut(data, []byte{'\n'})
	payload, ok := bytes.CutSuffix(payload, []byte{'\n'})
	if !ok {
		return frameBlob{}, corrupt(id, "frame: no line with a payload")
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

// checkPayload returns an error if payload is too large, or is not a single valid JSON value. It does not check that
// payload is a tree or a delta.
func checkPayload(payload []byte) error {
	switch {
	case len(payload) > page.MaxValue:
		return fmt.Errorf("the payload has %d bytes, the maximum is %d", len(payload), page.MaxValue)
	case !jsontext.Valid(payload):
		return errors.New("the payload is not a single JSON value in UTF-8 without white space around it, or is nested too deep")
	}
	return nil
}

// decodeHead decodes line, the first line of the blob, into b: the encoding, the number of deltas, the digest and, in a
// delta, the base. If a field is missing, invalid or out of range, decodeHead returns an error. It accepts other
// spellings of a field: decodeFrameBlob rejects them when it compares the encoding of b with the blob.
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
			return fmt.Errorf("%s with %d deltas, must be 0", b.encoding, b.deltas)
		}
		return nil
	case encodingDelta:
		if b.deltas < 1 || b.deltas > maxDeltas {
			return fmt.Errorf("the frame is delta %d after its keyframe, but the number must be 1 to %d", b.deltas, maxDeltas)
		}
		b.base, err = objstore.ParseID(fields[3])
		return err
	}
	return fmt.Errorf("unknown encoding %q", b.encoding)
}

// checkWhole returns an error if b.payload is not a tree in its canonical JSON, or does not have the digest b.sum. b
// must be the blob of a whole tree, and not of a delta.
func (b *frameBlob) checkWhole() error {
	tree, err := Parse(b.payload)
	switch {
	case err != nil:
		return err
	case tree == nil:
		return errors.New("the tree is null, which is never stored")
	case !bytes.Equal(tree.Append(nil), b.payload):
		return row.ErrNotCanonical
	case page.Sum(sha256.Sum256(b.payload)) != b.sum:
		return errors.New("the tree does not have the digest in the frame")
	}
	return nil
}

// corrupt returns an error that wraps objstore.ErrCorrupt and has the formatted text. The error means that this
// package has not written the blob with the given id.
func corrupt(id objstore.ID, format string, args ...any) error {
	return &objstore.CorruptError{ID: id, Reason: fmt.Sprintf(format, args...)}
}

// Stored is how the rendered tree of a frame is stored.
type Stored struct {
	Encoding string // full, delta or keyframe
	Deltas   int    // the blobs to read before this one to make the tree: its distance to a whole tree
}

// Describe returns how the rendered tree in the blob of a frame is stored. If the blob is damaged, the error wraps objstore.ErrCorrupt.
func Describe(r objstore.Reader, id objstore.ID) (Stored, error) {
	b, err := readFrameBlob(r, id)
	return Stored{b.encoding, b.deltas}, err
}
