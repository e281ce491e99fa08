package columns

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf16"
)

// signatureTypes are the column classes of Smithers' table library, by the type of the column.
var signatureTypes = map[Type]string{
	String: "SQLiteText", Number: "SQLiteReal", Integer: "SQLiteInteger", Boolean: "SQLiteBoolean", JSON: "SQLiteTextJson",
}

// Signature returns the schema signature that Smithers 0.32 computes for an output table: the SHA-256, in hex, of the table's name in
// SQL and its columns, by their JavaScript names. schema is the JSON Schema of the outputs. A schema that is not an object's has no
// columns of its own. The signature ignores whether a property is optional or nullable and what its default is.
func Signature(table string, schema json.RawMessage) string {
	sum := sha256.Sum256([]byte(signatureText(FitTable(Snake(table)), schema)))
	return hex.EncodeToString(sum[:])
}

// signatureText returns the text that Signature hashes: the table and its columns, in the order of JavaScript's sort.
func signatureText(table string, schema json.RawMessage) string {
	types := map[string]string{"iteration": "SQLiteInteger:1:0", "nodeId": "SQLiteText:1:0", "runId": "SQLiteText:1:0"}
	for name, of := range JSONObject(JSONObject(schema)["properties"]) {
		if _, taken := types[name]; !taken {
			types[name] = signatureTypes[signatureType(of)] + ":0:0"
		}
	}
	names := make([]string, 0, len(types))
	for name := range types {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return slices.CompareFunc(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)), cmp.Compare)
	})
	var text strings.Builder
	text.WriteString(table)
	for _, name := range names {
		text.WriteString("|" + name + ":" + types[name])
	}
	return text.String()
}

// signatureType returns the type of a property for its signature. Unlike typeOf, it follows the value of a constant number, and takes a
// choice of several values for JSON unless all of them are texts.
func signatureType(schema json.RawMessage) Type {
	members := JSONObject(schema)
	as := typeOf(schema)
	if constant := members["const"]; constant != nil && as == Number {
		return typeOfValue(constant)
	}
	if values := jsonArray(members["enum"]); len(values) > 1 && as != String {
		return JSON
	}
	return as
}
