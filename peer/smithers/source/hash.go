package source

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
)

// ContentHash is the content hash of a snapshot: SHA-256 in hex of
// {"nodes":…,"outputs":…,"ralph":…,"input":…} over the bytes as they are stored.
func ContentHash(c Contents) string {
	sum := sha256.New()
	for _, part := range []string{
		`{"nodes":`, c.Nodes, `,"outputs":`, c.Outputs, `,"ralph":`, c.Ralph, `,"input":`, c.Input, `}`,
	} {
		writeText(sum, part)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// writeText hashes a text, without a copy of all of it.
func writeText(to hash.Hash, text string) {
	var piece [4096]byte
	for len(text) > 0 {
		n := copy(piece[:], text)
		_, _ = to.Write(piece[:n]) // hashes do not fail
		text = text[n:]
	}
}

// XMLHash is the xml_hash of a rendered tree in canonical form: SHA-256 in hex.
func XMLHash(tree string) string {
	sum := sha256.Sum256([]byte(tree))
	return hex.EncodeToString(sum[:])
}
