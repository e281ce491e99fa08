package mail

import (
	"encoding/json"
	"slices"
)

// Choices returns the choices of a form in words, see ChoiceText. form is a JSON schema; its member enum has the
// choices. Choices returns nil if there is no enum, or if form cannot be read.
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

// ChoiceText formats a choice for people. A JSON string becomes its text without quotes. Any other value stays JSON.
func ChoiceText(choice json.RawMessage) string {
	var text string
	if json.Unmarshal(choice, &text) == nil {
		return text
	}
	return string(choice)
}

// RequiredFirst sorts the fields of a form: those that are required, followed by the others, each in their order.
func RequiredFirst[F any](fields []F, required func(F) bool) []F {
	slices.SortStableFunc(fields, func(a, b F) int {
		switch {
		case required(a) == required(b):
			return 0
		case required(a):
			return -1
		}
		return 1
	})
	return fields
}
