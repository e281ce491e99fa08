package summary

import (
	"encoding/json"

	"github.com/git-smithers/git-smithers/timeline"
)

// An element is an element of a rendered tree, as far as the order of tasks needs it. A text has no children.
type element struct {
	Props    map[string]json.RawMessage `json:"props"`
	Children []element                  `json:"children"`
}

// taskOrder returns the position of each id in the rendered tree of the newest entry. The result is empty if there is no tree
// or it cannot be read: the order is only a help.
func (sum *Summary) taskOrder(s *timeline.Store) map[string]int {
	order := make(map[string]int)
	text, err := s.Rendered(sum.Entry)
	if err != nil {
		s.Warn(err)
		return order
	}
	var root element
	if json.Unmarshal(text, &root) == nil {
		root.number(order)
	}
	return order
}

// number gives the ids of the element and of all below it their positions.
func (e element) number(order map[string]int) {
	var id string
	if json.Unmarshal(e.Props["id"], &id) == nil && id != "" {
		if _, known := order[id]; !known {
			order[id] = len(order)
		}
	}
	for _, child := range e.Children {
		child.number(order)
	}
}
