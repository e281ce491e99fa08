package snapshot

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

const (
	// MaxIDs is the largest number of ids of a frame.
	MaxIDs = 64
	// MaxID is the largest size of an id of a frame in bytes.
	MaxID = 512
)

// frameIDs returns the ids of a frame in the form in which they are stored: sorted, and each id only once. It does
// not modify ids. If an id is empty or not UTF-8, the error wraps ErrInvalid. If an id is too large, or there are too
// many ids, the error wraps ErrLimit.
func (in intake) frameIDs(ids []string) ([]string, error) {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	if len(ids) > MaxIDs {
		return nil, fmt.Errorf("%w: the frame has %d ids, the maximum is %d", ErrLimit, len(ids), MaxIDs)
	}
	for _, id := range ids {
		if len(id) > MaxID {
			return nil, fmt.Errorf("%w: an id of the frame has %d bytes, the maximum is %d", ErrLimit, len(id), MaxID)
		}
		if err := checkFrameID(id); err != nil {
			return nil, invalid("%w", err)
		}
	}
	return ids, nil
}

// checkFrameID returns an error if id cannot be the id of a frame: if id is empty, longer than MaxID, or not UTF-8.
func checkFrameID(id string) error {
	switch {
	case id == "":
		return errors.New("an id of the frame is empty")
	case len(id) > MaxID:
		return fmt.Errorf("an id of the frame has %d bytes, the maximum is %d", len(id), MaxID)
	case !utf8.ValidString(id):
		return fmt.Errorf("the frame's id %q is not UTF-8", id)
	}
	return nil
}

// checkIDs returns an error if the ids of the header cannot be stored: if the entry is not a frame, if there are too
// many ids, if an id is invalid, or if the ids are not sorted or have repeats.
func (h Header) checkIDs() error {
	switch {
	case len(h.IDs) > 0 && h.Frame == NoFrame:
		return errors.New("ids: only a frame has ids")
	case len(h.IDs) > MaxIDs:
		return fmt.Errorf("ids: the frame has %d, the maximum is %d", len(h.IDs), MaxIDs)
	}
	for i, id := range h.IDs {
		if err := checkFrameID(id); err != nil {
			return err
		}
		if i > 0 && id <= h.IDs[i-1] {
			return fmt.Errorf("ids: %q does not come after %q", id, h.IDs[i-1])
		}
	}
	return nil
}

// decodeIDs appends the ids in the Smithers-Id trailers of lines to h.IDs. It returns false if an escape is invalid,
// or if there are more than MaxIDs ids.
func (h *Header) decodeIDs(lines *lineReader) bool {
	for {
		value := lines.field("Smithers-Id: ")
		if value == "" {
			return true
		}
		id, ok := unescape(value, plainRun)
		if !ok || len(h.IDs) == MaxIDs {
			return false
		}
		h.IDs = append(h.IDs, id)
	}
}
