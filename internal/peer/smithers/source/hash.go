package source

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
)

// ContentHash returns the content hash of a snapshot: SHA-256 in hex of {"nodes":…,"outputs":…,"ralph":…,"input":…}
// over the stored bytes.
func ContentHash(c Contents) string {
	sum := sha256.New()
	for _, part := range []string{
		`{"nodes":`, c.Nodes, `,"outputs":`, c.Outputs, `,"ralph":`, c.Ralph, `,"input":`, c.Input, `}`,
	} {
		writeText(sum, part)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// writeText writes text to the hash in pieces, because a conversion to bytes would copy all of a large text.
func writeText(to hash.Hash, text string) {
	var piece [4096]byte
	for len(text) > 0 {
		n := copy(piece[:], text)
		_, _ = to.Write(piece[:n]) // hashes do not fail
		text = text[n:]
	}
}

// XMLHash returns the xml_hash of a rendered tree, which must be in canonical form: SHA-256 in hex.
func XMLHash(tree string) string {
	sum := sha256.Sum256([]byte(tree))
	return hex.EncodeToString(sum[:])
}
