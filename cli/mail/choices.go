package mail

import (
	"encoding/json"
)

// Choices returns the choices of a form, as people read them. form is a JSON schema, and its enum has the choices. If
// there is no enum, Choices returns nil.
func Choices(form json.RawMessage) []string {
	var schema struct {
		Enum []json.RawMessage `json:"enum"`
	}
	if json.Unmarshal(form, &schema) != nil {
		return nil
	}
	var choices []string
	for _, choice := range schema.Enum {
		choices = append(choices, ChoiceText(choice))
	}
	return choices
}

// ChoicesShown is the largest number of choices that a message shows.
const ChoicesShown = 20

// ChoiceText formats a choice for people: a text without its quotes, and any other value as JSON.
func ChoiceText(choice json.RawMessage) string {
	var text string
	if json.Unmarshal(choice, &text) == nil {
		return text
	}
	return string(choice)
}
