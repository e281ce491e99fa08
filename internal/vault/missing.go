package vault

import (
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/internal/redact"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// MissingError is the error about a text of a run's history whose secrets this clone does not have. It is in errors with the
// code secret_missing.
type MissingError struct {
	At      snapshot.Place
	Text    []byte // as the history has it
	Missing []redact.Placeholder
}

// Error returns the place and the placeholders.
func (e *MissingError) Error() string {
	return fmt.Sprintf("%s has %s, and this clone does not have the secret", e.At, strings.Join(e.names(), ", "))
}

// names returns the placeholders as the history spells them.
func (e *MissingError) names() []string {
	names := make([]string, len(e.Missing))
	for i, p := range e.Missing {
		names[i] = p.String()
	}
	return names
}

// Explain returns e with its code, and with hints about the run that has the text.
func (e *MissingError) Explain(run string) error {
	return fault.New(fault.SecretMissing, "%w", e).
		Hint("go on in the clone that ran the task: its vault has the secret").
		Hint("or name a variable that has the secret: `git smithers resume %s --secret %s=VARIABLE`", fault.Word(run), fault.Word(e.Missing[0].Name())).
		Hint("or run the task again here: `git smithers replay %s --node TASK` makes a fork in which it has not run", fault.Word(run)).
		Detail("place", e.At.String()).Detail("missing", e.names())
}

// Provide records the secrets of a text that another clone has taken out of the run, so that Reveal gives them back at this
// place. secret returns the secret for a placeholder; it must have one for each placeholder in text. The caller has the
// user's consent for this place, because a text alone must not get a secret.
func (b *Book) Provide(at snapshot.Place, text []byte, secret func(redact.Placeholder) []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.change(func(file *bookFile) error {
		edits := redact.Fill(text, func(p redact.Placeholder) []byte {
			value := secret(p)
			if _, known := b.numbers[string(value)]; value != nil && !known {
				b.numbers[string(value)] = p
				b.vault.found.Add(1)
				b.highest = max(b.highest, p.Number)
				file.add(record{Secret: p.Number, Rule: p.Rule, Value: value})
			}
			return value
		})
		b.place(file, at, text, edits)
		return nil
	})
}
