package snapshot

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/snapshot/row"
	"github.com/git-smithers/git-smithers/objstore"
)

// EncodeLog returns the row of an attempt's log in the collection "logs": the text as one JSON string. Bytes that
// are not UTF-8 become U+FFFD.
func EncodeLog(nodeID string, iteration, attempt int, text string) page.Row {
	return page.Row{
		Key:   AttemptKey(nodeID, iteration, attempt),
		Value: page.AppendString(nil, strings.ToValidUTF8(text, "\uFFFD")),
	}
}

// DecodeLog returns the text in a log's row. If EncodeLog would not have written the row, the error wraps
// objstore.ErrCorrupt.
func DecodeLog(r page.Row) (string, error) {
	var text string
	err := json.Unmarshal(r.Value, &text)
	if err == nil {
		_, _, _, err = SplitAttemptKey(r.Key)
	}
	if err != nil || !bytes.Equal(page.AppendString(nil, text), r.Value) {
		return "", corrupt(objstore.ID{}, "log %q: %v", r.Key, errors.Join(err, row.ErrNotCanonical))
	}
	return text, nil
}

// logRows describes the collection "logs" of the journal. Its values are strings, and not objects like the values of
// other collections.
func logRows() *collection {
	return &collection{name: CollectionLogs, place: inJournal, isText: true, encode: encodeLog, decode: decodeLog}
}

// decodeLog returns an error if the stored row of a log is invalid.
func decodeLog(r page.Row) error {
	_, err := DecodeLog(r)
	return err
}

// encodeLog returns the row of an attempt's log. key and value come from an engine. value must be valid JSON. If key
// is not the key of an attempt, or value is not a JSON string, encodeLog returns an error.
func encodeLog(key string, value json.RawMessage) (page.Row, error) {
	node, iteration, attempt, err := SplitAttemptKey(key)
	if err != nil {
		return page.Row{}, err
	}
	if value[0] != '"' {
		return page.Row{}, errors.New("a log must be a JSON string")
	}
	var text string
	if err := json.Unmarshal(value, &text); err != nil {
		return page.Row{}, err
	}
	return EncodeLog(node, iteration, attempt, text), nil
}
