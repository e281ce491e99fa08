package report

import (
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/internal/redact"
	"github.com/git-smithers/git-smithers/internal/share/secretscan"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// masker puts placeholders in place of secrets. Every text that a report shows passes it whole, before the text is cut, because a
// part of a secret is not found.
type masker struct {
	finder  *redact.Finder
	allowed map[string]bool // digests that the report may show
	run     string
	highest int                           // the highest number of a placeholder of the run
	names   map[string]redact.Placeholder // by the run and the digest
	digests map[string]bool               // of the secrets that were found
	shown   map[string]bool               // runs with the names of their placeholders
}

// newMasker returns a masker. It finds secrets whatever smithers.secrets is: a report is made to be shown to others. Codes: usage if
// a digest is invalid; invalid_secrets if the rules cannot be read.
func newMasker(s *timeline.Store, allow []string) (*masker, error) {
	if err := secretscan.CheckDigests(allow...); err != nil {
		return nil, err
	}
	finder, err := timeline.SecretFinder(s)
	if err != nil {
		return nil, err
	}
	kept, err := secretscan.Allowances(s)
	if err != nil {
		return nil, err
	}
	m := &masker{
		finder: finder, allowed: make(map[string]bool), names: make(map[string]redact.Placeholder), digests: make(map[string]bool),
		shown: make(map[string]bool),
	}
	for _, digest := range allow {
		m.allowed[digest] = true
	}
	for _, a := range kept {
		m.allowed[a.Digest] = true
	}
	return m, nil
}

// begin begins the texts of a run. New placeholders have numbers above those that the run has.
func (m *masker) begin(row snapshot.Run) { m.run, m.highest = row.ID, row.Secrets }

// text returns a text with placeholders in place of its secrets.
func (m *masker) text(text string) string {
	out, _ := m.file("", []byte(text))
	return out
}

// file is text for the content of a file: each line of a secret becomes a placeholder. It reports whether it found a secret.
func (m *masker) file(path string, content []byte) (string, bool) {
	var b strings.Builder
	from := 0
	for _, f := range m.finder.FindIn(path, content) {
		digest := f.Digest(content)
		if m.allowed[digest] {
			continue
		}
		m.digests[digest] = true
		b.Write(content[from:f.Start])
		name := m.placeholder(f.Rule, digest).String()
		b.WriteString(name)
		if path != "" { // lines keep their numbers
			b.WriteString(strings.Repeat("\n"+name, strings.Count(string(content[f.Start:f.End]), "\n")))
		}
		from = f.End
	}
	out := string(content)
	if from > 0 {
		b.Write(content[from:])
		out = b.String()
	}
	if redact.HasSign([]byte(out)) {
		for _, p := range redact.Placeholders([]byte(out)) {
			m.shown[m.run+"\x00"+p.Name()] = true
		}
	}
	return out, from > 0
}

// placeholder returns the placeholder for a secret of the run.
func (m *masker) placeholder(rule, digest string) redact.Placeholder {
	key := m.run + "\x00" + digest
	p, known := m.names[key]
	if !known {
		m.highest++
		p = redact.Placeholder{Rule: redact.RuleName(rule), Number: m.highest}
		m.names[key] = p
	}
	return p
}

// refusal returns the error secrets_found if a run says by its marks that it stores a secret as it is, the masker has not found
// that secret, and nobody has allowed it: this clone may not know its form, and the report may show it. Marks of places that no
// report shows do not count.
func (m *masker) refusal(runs []*Run) error {
	for _, run := range runs {
		for _, text := range run.marks {
			mark, ok := snapshot.ParseMark(text)
			if !ok || m.digests[mark.Digest] || m.allowed[mark.Digest] || !isShown(mark.Place) {
				continue
			}
			return fault.New(fault.SecretsFound, "no report was made: run %s stores a secret (%s) that this clone does not recognize, in %s",
				run.ID, plain.Text(mark.Rule), plain.Text(mark.Place)).
				Hint("revoke the secret if it is real: whoever has the run has the secret").
				Hint("if it is harmless, `--allow %s` makes the report once, and `git smithers scan --allow %s --reason TEXT` for good",
					fault.Word(mark.Digest), fault.Word(mark.Digest)).
				Detail("run", run.ID).Detail("digest", mark.Digest).Detail("place", mark.Place)
		}
	}
	return nil
}

// isShown reports whether a report may show texts of a place in an entry.
func isShown(place string) bool {
	return !slices.ContainsFunc([]string{"workflow", "ext"}, func(hidden string) bool {
		return place == hidden || strings.HasPrefix(place, hidden+"/") || strings.HasPrefix(place, hidden+" ")
	})
}
