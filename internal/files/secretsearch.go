package files

import (
	"cmp"
	"slices"

	"github.com/git-smithers/git-smithers/internal/redact"
	"github.com/git-smithers/git-smithers/internal/vault"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// secretSearch returns the search that keeps files with secrets out of captures, or nil if smithers.secrets is off. With
// refuse, files are left out, too: nothing of them is written. The error is that of [timeline.SecretFinder].
func secretSearch(s *timeline.Store) (*jjbridge.SecretSearch, error) {
	if s.Settings().Secrets == vault.Off {
		return nil, nil //nolint:nilnil // no search is not an error
	}
	finder, err := timeline.SecretFinder(s)
	if err != nil {
		return nil, err
	}
	return &jjbridge.SecretSearch{
		Rules: finder.Fingerprint(),
		Named: func(path string) bool { return redact.SecretFile(path) && !finder.AllowsPath(path) },
		Find:  finder.FirstIn,
	}, nil
}

// leftSecrets returns the files in left that a capture left out because of their secrets.
func leftSecrets(left []snapshot.LeftOut) []snapshot.LeftOut {
	var secrets []snapshot.LeftOut
	for _, l := range left {
		if l.Reason == snapshot.LeftSecret {
			secrets = append(secrets, l)
		}
	}
	return secrets
}

// withSecrets returns left with the files in secrets, sorted by path. A path that left has already keeps its reason.
func withSecrets(left, secrets []snapshot.LeftOut) []snapshot.LeftOut {
	all := slices.Concat(left, secrets)
	slices.SortStableFunc(all, func(a, b snapshot.LeftOut) int { return cmp.Compare(a.Path, b.Path) })
	return slices.CompactFunc(all, func(a, b snapshot.LeftOut) bool { return a.Path == b.Path })
}
