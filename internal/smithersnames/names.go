// Package smithersnames has the names that the databases of Smithers and the index of git-smithers share.
package smithersnames

import "strings"

// The application ids of the databases that package sqliteindex makes. The tables of these databases have the same
// names as the tables of Smithers.
const (
	IndexID       = 0x67736d69 // "gsmi"
	DetailIndexID = 0x67736d64 // "gsmd"
)

// SnakeName returns the name of the table that Smithers makes for a key of a schema, or of the column for a property of
// a schema. name is the key or the property. Each ASCII capital letter becomes an underscore and the small letter, so
// "reviewNote" becomes "review_note".
func SnakeName(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		if c >= 'A' && c <= 'Z' {
			b.WriteByte('_')
			c += 'a' - 'A'
		}
		b.WriteByte(c)
	}
	return b.String()
}
