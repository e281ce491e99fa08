package share

import (
	"context"
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/internal/share/secretscan"
	"github.com/git-smithers/git-smithers/internal/vault"
)

// searchSecrets searches what the remote lacks of the runs in open. If it finds a secret that is not allowed, the error's code is
// secrets_found. It searches the same tips only once.
func (p *push) searchSecrets(ctx context.Context, open []*outgoingRun) error {
	runs := make([]secretscan.Run, len(open))
	for i, run := range open {
		runs[i] = secretscan.Run{ID: run.RunID, Tip: run.Tip}
	}
	if len(runs) == 0 || slices.Equal(runs, p.searched) {
		return nil
	}
	req := secretscan.Request{Runs: runs, Have: slices.Collect(maps.Values(p.there.tips)), Listed: p.there.others, Allow: p.req.Allow}
	if p.to.Configured {
		req.Remote = p.to.Name
	}
	report, err := p.searchRuns(ctx, req, "nothing was pushed to "+p.to.Shown())
	if err != nil {
		return err
	}
	p.lookForLFS(report.LFS, runs)
	p.lookForModules(ctx, report.Modules)
	p.searched = runs
	return nil
}

// searchRuns searches runs for secrets before they leave the repository, unless smithers.secrets is off. If there are any that are
// not allowed, the error's code is secrets_found. refused says what then was refused.
func (s *Sharer) searchRuns(ctx context.Context, req secretscan.Request, refused string) (*secretscan.Report, error) {
	if s.store.Settings().Secrets == vault.Off {
		return &secretscan.Report{}, nil
	}
	if err := secretscan.CheckDigests(req.Allow...); err != nil {
		return nil, err
	}
	req.Progress = func(done, total int) { s.progress("looking for secrets", done, total) }
	report, err := secretscan.Scan(ctx, s.store, req)
	if err != nil {
		return nil, err
	}
	return report, report.Refusal(refused)
}
