package redact

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// publishedKeys are keys that Google prints in its manuals and samples, where everybody finds them: the first 16 digits of
// their SHA-256. They are no secrets, and stand in much source code.
//
// Source: the keys that gitleaks 8.30.1 allows in its rule gcp-api-key.
var publishedKeys = []string{
	"0b476bdf9acf2123", "2037abcaffb2b777", "27a9a42931dff7eb", "37f8f09bdf12c2f2",
	"3a8b61d0f636b007", "3f370c9dd8225c63", "49f777db995e8260", "4c98242dcadc8b29",
	"8731261cb72d8626", "a19f89ab3555eac1", "a6c814bc555ae62c", "b7d61096898ce748",
	"dc0fcf046c61640c", "e4a5542bb7fd7b67", "ea9bb1082cf95663", "eb540d2b6ee2a0a4",
	"f3082ce9d6992144", "f56e323494a6ffc2",
}

// unpublished reports whether a key of Google is not one of its manuals.
func unpublished(key []byte) bool {
	sum := sha256.Sum256(key)
	return !slices.Contains(publishedKeys, hex.EncodeToString(sum[:8]))
}
