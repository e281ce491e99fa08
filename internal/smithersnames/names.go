// Package smithersnames has the names that databases of Smithers and our own index share.
package smithersnames

import "strings"

// The application ids of the databases that package sqliteindex makes. Their tables have the names of Smithers' tables.
const (
	IndexID       = 0x67736d69 // "gsmi"
	DetailIndexID = 0x67736d64 // "gsmd"
)

// SnakeName returns the name that Smithers gives to the table of a schema's key, and to the column of a property.
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
