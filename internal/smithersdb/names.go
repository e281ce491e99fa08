package smithersdb

import "strings"

// SnakeName is what Smithers calls the table of a schema's key, and the column of a property.
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
