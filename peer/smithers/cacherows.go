package smithers

import (
	"context"
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/cache"
)

// keepCache stores the rows of _smithers_cache in the cache of the repository, so that an export has them. It returns the number of rows
// that it left out, because they have values other than texts and integers.
func (im *importJob) keepCache(ctx context.Context, tx *source.Tx) (left int64, err error) {
	var rows []cache.PeerRow
	for row, err := range tx.Rows(tables.Cache, "") {
		if err != nil {
			return 0, err
		}
		if kept := cacheRow(row); kept != nil {
			rows = append(rows, kept)
			continue
		}
		left++
	}
	if len(rows) == 0 {
		return left, nil
	}
	return left, timeline.Explain(cache.Of(im.store).AddPeer(ctx, rows))
}

// cacheRow returns a row of _smithers_cache as the repository keeps it, or nil if it cannot.
func cacheRow(row source.Row) cache.PeerRow {
	out := make(cache.PeerRow, len(row))
	for column, value := range row {
		switch {
		case value.Kind == source.Null:
			out[column] = nil
		case value.Kind == source.Int:
			out[column] = json.Number(strconv.FormatInt(value.Int, 10))
		case value.Kind == source.Text && utf8.ValidString(value.Bytes):
			out[column] = value.Bytes
		default:
			return nil
		}
	}
	if out.Key() == "" {
		return nil
	}
	return out
}
