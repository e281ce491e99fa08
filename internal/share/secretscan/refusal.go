package secretscan

import (
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Refusal returns the error secrets_found if the report has findings that are not allowed, and otherwise nil. what says what was
// refused, for example "nothing was pushed to origin". The detail "findings" of the error has the findings.
func (r *Report) Refusal(what string) error {
	if len(r.Findings) == 0 {
		return nil
	}
	err := fault.New(fault.SecretsFound, "%s: %s", what, r.count())
	err = err.Hint("revoke each secret that is real: whoever has the run has the secret")
	err = err.Hint("if a finding is harmless, `--allow %s` lets it through once, and `git smithers scan --allow %s --reason TEXT` for good",
		fault.Word(r.Findings[0].Digest), fault.Word(r.Findings[0].Digest))
	for _, c := range []struct {
		hint string
		is   func(Finding) bool
	}{
		{"a run keeps its workflow as it is: let the commands read the secret from a variable, and start a new run", func(f Finding) bool { return strings.HasPrefix(f.Place, "workflow/") }},
		{"a frame keeps the files that it has captured: take the secret out of the file, or let .gitignore name the file, before the run goes on", func(f Finding) bool { return workingPath(f.Place) != "" }},
		{"runs take the commits along that they build on: make the commit anew without the secret, and start a new run on it", func(f Finding) bool { return f.RunID == "" }},
	} {
		if slices.ContainsFunc(r.Findings, c.is) {
			err = err.Hint("%s", c.hint)
		}
	}
	return r.hintClean(err).Detail("findings", r.Findings)
}

// count returns the number of the secrets and of their places in words.
func (r *Report) count() string {
	digests := make(map[string]bool)
	for _, f := range r.Findings {
		digests[f.Digest] = true
	}
	return plain.Count(len(digests), "secret") + " in " + plain.Count(len(r.Findings), "place")
}

// hintClean adds hints to err about forking each run at its last frame without a secret.
func (r *Report) hintClean(err *fault.Error) *fault.Error {
	first := make(map[string]int64)
	var runs []string
	for _, f := range r.Findings {
		if _, known := first[f.RunID]; !known {
			first[f.RunID] = frameOf(f)
			runs = append(runs, f.RunID)
		}
		first[f.RunID] = min(first[f.RunID], frameOf(f))
	}
	for _, run := range runs {
		if strings.Contains(run, timeline.Masked) {
			err = err.Hint("the id of run %s has a secret: `git smithers runs` shows the id, and `git smithers prune ID` removes the run", run)
			continue
		}
		if first[run] == 0 {
			err = err.Hint("run %s has a secret from its first frame on: start a new run without it, and `git smithers prune %s` removes this one", run, fault.Word(run))
		}
		if first[run] < 1 {
			continue // no frame before, or an unknown one
		}
		clean := timeline.Address{Run: run, Frame: first[run] - 1}.String()
		err = err.Hint("to share run %s without its secrets: `git smithers fork %s` forks it at its last clean frame; push the fork, and `git smithers prune %s` removes the run",
			run, fault.Word(clean), fault.Word(run))
	}
	return err
}
