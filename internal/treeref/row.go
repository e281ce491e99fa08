package treeref

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
)

// maxRow is the largest row as JSON, in bytes.
const maxRow = 16 << 20

// Row is a row of another engine's table that belongs to no run, by column: a text is a string, a number a json.Number (one with a point or an exponent is a float), NULL is
// nil, and bytes are what Bytes returns.
type Row map[string]any

// blobMember marks bytes.
const blobMember = "base64"

// Bytes returns the value of a column with bytes.
func Bytes(data string) any {
	return map[string]any{blobMember: base64.StdEncoding.EncodeToString([]byte(data))}
}

// Float returns the value of a column with a float.
func Float(f float64) json.Number {
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return json.Number(text)
}

// Text returns the text in a column; "" if the column has none.
func (r Row) Text(column string) string {
	text, _ := r[column].(string)
	return text
}

// Number returns the integer in a column; 0 if the column has none.
func (r Row) Number(column string) int64 {
	digits, _ := r[column].(json.Number)
	n, _ := digits.Int64()
	return n
}

// Value returns the value in a column as SQL drivers take it: a string, an int64, a float64, bytes, or nil.
func (r Row) Value(column string) any {
	switch value := r[column].(type) {
	case string:
		return value
	case json.Number:
		if n, err := value.Int64(); err == nil {
			return n
		}
		f, _ := value.Float64()
		return f
	case map[string]any:
		text, _ := value[blobMember].(string)
		data, _ := base64.StdEncoding.DecodeString(text)
		return data
	}
	return nil
}

// Values returns the values in columns, see Value.
func (r Row) Values(columns []string) []any {
	values := make([]any, len(columns))
	for i, column := range columns {
		values[i] = r.Value(column)
	}
	return values
}

// Encode returns the row as JSON with sorted members; false if it is too large.
func (r Row) Encode() ([]byte, bool) {
	text, err := json.Marshal(r)
	return text, err == nil && len(text) <= maxRow
}

// decodeRow returns the row in JSON; false if it is no row.
func decodeRow(text []byte) (Row, bool) {
	var row Row
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	return row, dec.Decode(&row) == nil && row != nil
}
