package app

import (
	"errors"

	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/redact"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// A Provider returns the secret for a placeholder that a run needs to go on and that this clone does not have. needed says who
// needs the placeholder. The user must consent to each: the history of a fetched run may name any secret. If the error is
// nil, the secret is not empty. Providers are called once for each text with the placeholder.
type Provider func(run string, needed engine.MissingSecret, p redact.Placeholder) ([]byte, error)

// checkInput checks whether the run can go on with its input, as engine.CheckInput does. If secrets are missing, it first puts
// those into the vault that provide returns. If provide is nil, or returns an error, it returns an error, and the vault stays
// as it is.
func checkInput(store *timeline.Store, head *timeline.Head, wf *workflow.Workflow, provide Provider, opts engine.Options) error {
	err := engine.CheckInput(head, wf, opts)
	if err == nil || provide == nil || fault.CodeOf(err) != fault.SecretMissing {
		return err
	}
	needed, listErr := engine.MissingSecrets(head, wf, opts)
	if listErr != nil {
		return errors.Join(err, listErr)
	}
	secrets := make([]map[redact.Placeholder][]byte, len(needed))
	for i, n := range needed {
		secrets[i] = make(map[redact.Placeholder][]byte)
		for _, p := range n.Reason.Missing {
			if secrets[i][p] != nil {
				continue
			}
			secret, err := provide(head.Row().ID, n, p)
			if err != nil {
				return err
			}
			secrets[i][p] = secret
		}
	}
	book := store.Secrets(head.Row())
	for i, n := range needed {
		if err := book.Provide(n.Reason.At, n.Reason.Text, func(p redact.Placeholder) []byte { return secrets[i][p] }); err != nil {
			return timeline.Explain(err)
		}
	}
	if err := book.Sync(); err != nil {
		return timeline.Explain(err)
	}
	return engine.CheckInput(head, wf, opts)
}
