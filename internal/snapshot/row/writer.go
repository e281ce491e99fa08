package row

import (
	"strconv"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/objstore"
)

// MaxInteger is the largest integer in the metadata of git-smithers. JSON readers that store numbers as doubles
// would change larger integers.
const MaxInteger = 1<<53 - 1

// AppendName appends the name of an object's next member and a colon to b. Before the name, it appends a comma, unless
// b ends with "{". name must be ASCII without characters that JSON escapes. The caller must append the members sorted
// by name.
func AppendName(b []byte, name string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	b = append(append(b, '"'), name...)
	return append(b, '"', ':')
}

// AppendText appends a member with the given name and a string value, which must be UTF-8.
func AppendText(b []byte, name, value string) []byte {
	return page.AppendString(AppendName(b, name), value)
}

// AppendInt appends a member with the given name and an integer value.
func AppendInt(b []byte, name string, value int64) []byte {
	return strconv.AppendInt(AppendName(b, name), value, 10)
}

// AppendRaw appends a member with the given name and value. value must be valid JSON, or nil for null.
func AppendRaw(b []byte, name string, value []byte) []byte {
	b = AppendName(b, name)
	if value == nil {
		return append(b, "null"...)
	}
	return append(b, value...)
}

// appendID appends a member with the given name. The value is id as a JSON string.
func appendID(b []byte, name string, id objstore.ID) []byte {
	return AppendText(b, name, id.String())
}

// appendTexts appends a member with the given name. Its value is an array of strings.
func appendTexts(b []byte, name string, values []string) []byte {
	b = append(AppendName(b, name), '[')
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = page.AppendString(b, v)
	}
	return append(b, ']')
}
