package search

import "slices"

// Kind is what a text is.
type Kind int

// The kinds. Their numbers are in the index.
const (
	Outputs Kind = iota // outputs of tasks
	Logs                // what commands printed, and why attempts failed
	Prompts             // what a run was asked and told: inputs, prompts of sessions, questions and answers, signals
	Talk                // what was said in the conversation of a session
	Calls               // tool calls: their inputs, outputs and errors
	Events
	Code // files
)

// Kinds returns the names of all kinds, by their numbers.
func Kinds() []string {
	return []string{"outputs", "logs", "prompts", "talk", "calls", "events", "code"}
}

// String returns the name of the kind.
func (k Kind) String() string { return Kinds()[k] }

// MarshalText returns the name of the kind.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// KindNamed returns the kind with the name, and whether there is one.
func KindNamed(name string) (Kind, bool) {
	i := slices.Index(Kinds(), name)
	return Kind(i), i >= 0
}
