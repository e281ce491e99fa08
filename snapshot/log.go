package snapshot

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot/row"
)

// EncodeLog is the row of an attempt's log in the collection "logs": its text as
// one JSON string. Bytes that are not UTF-8 become U+FFFD.
func EncodeLog(nodeID string, iteration, attempt int, text string) page.Row {
	return page.Row{
		Key:   AttemptKey(nodeID, iteration, attempt),
		Value: page.AppendString(nil, strings.ToValidUTF8(text, "\uFFFD")),
	}
}

// DecodeLog reads the text of a log's row.
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
