package snapshot

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/objstore/page"
)

// Loop is the state of a loop (ralph).
type Loop struct {
	RalphID   string `json:"ralphId"`
	Iteration int    `json:"iteration"` // the newest, from 0
	Done      bool   `json:"done"`
}

// EncodeLoop is the row of a loop; its key is the ralph id.
func EncodeLoop(l Loop) page.Row {
	return page.Row{Key: l.RalphID, Value: appendLoop(nil, l)}
}

// DecodeLoop reads the row of a loop. Bytes that EncodeLoop would not have written
// are objstore.ErrCorrupt.
func DecodeLoop(row page.Row) (Loop, error) {
	l, err := decodeLoop(row)
	if err != nil {
		return Loop{}, corrupt(objstore.ID{}, "loop %q: %v", row.Key, err)
	}
	return l, nil
}

func decodeLoop(row page.Row) (Loop, error) {
	l := Loop{RalphID: row.Key}
	m := metadata{rest: row.Value}
	m.name("done")
	l.Done = m.bool()
	m.name("iteration")
	l.Iteration = int(m.int())
	m.close()
	if !m.done("") || !bytes.Equal(appendLoop(nil, l), row.Value) {
		return Loop{}, errNotCanonical
	}
	if err := l.check(); err != nil {
		return Loop{}, err
	}
	return l, nil
}

func appendLoop(b []byte, l Loop) []byte {
	b = append(b, '{')
	b = appendName(b, "done")
	if l.Done {
		b = append(b, "true"...)
	} else {
		b = append(b, "false"...)
	}
	b = appendIntMember(b, "iteration", int64(l.Iteration))
	return append(b, '}')
}

func (l Loop) check() error {
	switch {
	case l.RalphID == "":
		return errors.New("ralphId: missing")
	case l.Iteration < 0 || l.Iteration > maxInteger:
		return errors.New("iteration: out of range")
	}
	return nil
}

// parseLoop reads a loop as engines write it. With a key, ralphId may be left out
// but must not differ.
func parseLoop(key string, value json.RawMessage) (Loop, error) {
	l := Loop{RalphID: key}
	err := eachMember(value, func(name string, value json.RawMessage) error {
		switch name {
		case "ralphId":
			return field(value, &l.RalphID)
		case "iteration":
			return field(value, &l.Iteration)
		case "done":
			return field(value, &l.Done)
		}
		return errUnknownField
	})
	if err == nil && key != "" && l.RalphID != key {
		err = errors.New("ralphId: not that of the key")
	}
	if err == nil {
		err = l.check()
	}
	if err != nil {
		return Loop{}, fmt.Errorf("loop %q: %w", l.RalphID, err)
	}
	return l, nil
}
