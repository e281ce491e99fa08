package transport

import (
	"context"
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
)

// List returns the refs of remote whose names begin with prefix, sorted by name. remote may be the path of a bundle.
// The remote sends the names of all its refs, even of those without the prefix, so Fetch is cheaper for finding runs.
// If git prints an invalid line, the error wraps ErrRemote. If the ids are those of another hash, it is a [HashError].
func (t *Transport) List(ctx context.Context, remote, prefix string) ([]refs.Ref, error) {
	stdout, err := t.run(ctx, t.process([]string{"ls-remote", "--quiet", "--refs", "--", remote}, nil))
	if err != nil {
		return nil, err
	}
	var found []refs.Ref
	for line := range strings.Lines(string(stdout)) {
		hex, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		id, err := objstore.ParseID(hex)
		if err != nil {
			return nil, fmt.Errorf("%w: git ls-remote printed %q: %w", ErrRemote, line, err)
		}
		if !id.IsZero() && id.Algorithm().String() != t.opts.Repo.ObjectFormat {
			return nil, t.otherHash(nil)
		}
		found = append(found, refs.Ref{Name: refs.Name(name), ID: id})
	}
	return found, nil
}
