package app

import (
	"strings"

	"github.com/git-smithers/git-smithers/internal/redact"
	"github.com/git-smithers/git-smithers/internal/share/secretscan"
	"github.com/git-smithers/git-smithers/timeline"
)

// SecretHider returns a function that puts placeholders in place of the secrets in a text of a run, but those that are allowed for
// good, numbered from above highest. It finds them whatever smithers.secrets is: commits, descriptions of pull requests and traces are made to be shown to others. The
// text must be whole, because a part of a secret is not found. Code: invalid_secrets if the rules cannot be read.
func SecretHider(s *timeline.Store, highest int) (func(text string) string, error) {
	finder, err := timeline.SecretFinder(s)
	if err != nil {
		return nil, err
	}
	kept, err := secretscan.Allowances(s)
	if err != nil {
		return nil, err
	}
	allowed := make(map[string]bool, len(kept))
	for _, a := range kept {
		allowed[a.Digest] = true
	}
	numbers := make(map[string]int) // by digest
	return func(text string) string {
		var out strings.Builder
		from := 0
		for _, found := range finder.Find([]byte(text)) {
			digest := found.Digest([]byte(text))
			if allowed[digest] {
				continue
			}
			if numbers[digest] == 0 {
				highest++
				numbers[digest] = highest
			}
			out.WriteString(text[from:found.Start])
			out.WriteString(redact.Placeholder{Rule: redact.RuleName(found.Rule), Number: numbers[digest]}.String())
			from = found.End
		}
		return out.String() + text[from:]
	}, nil
}
