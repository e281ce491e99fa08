package secretscan

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/git-smithers/git-smithers/internal/redact"
	"github.com/git-smithers/git-smithers/objstore"
)

const (
	// pieceSize is the number of bytes of a large object that are searched at once.
	pieceSize = 4 << 20
	// pieceOverlap is the number of bytes that two pieces share, so that a secret between them is found.
	pieceOverlap = 32 << 10
	// edgeSize is the number of bytes at the ends of two chunks of a value that are searched together.
	edgeSize = 4 << 10
)

// hit is a secret in an object.
type hit struct {
	object
	rule, digest, excerpt string
	isMessage             bool // in the message of a commit
	end                   int  // where the secret ends in the text
}

// text is what one worker searches at once.
type text struct {
	object
	data      []byte
	isMessage bool
}

// search searches objects, and remembers those that are clean at every path, but for pointers of git-lfs, which each scan reports. An
// exception for a path says nothing of the same content elsewhere.
func (j *scan) search(ctx context.Context, objects []object) ([]hit, error) {
	var mu sync.Mutex
	var hits []hit
	workers, ctx := errgroup.WithContext(ctx)
	again := make(map[objstore.ID]bool)
	names := nameSearch{scan: j, searched: make(map[string][]hit), again: again}
	texts := make(chan text, 64)
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() error {
			for t := range texts {
				if found := j.find(t); len(found) > 0 {
					mu.Lock()
					hits = append(hits, found...)
					mu.Unlock()
				}
			}
			return nil
		})
	}
	workers.Go(func() error {
		defer close(texts)
		return j.read(ctx, objects, &names, func(t text) error {
			if p, ok := pointerIn(t); ok {
				j.out.LFS = append(j.out.LFS, p)
			}
			select {
			case texts <- t:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	})
	if err := workers.Wait(); err != nil {
		return nil, err
	}
	hits = append(hits, names.hits...)
	for _, h := range hits {
		again[h.id] = true
	}
	for _, p := range j.out.LFS {
		again[p.blob] = true
	}
	for _, o := range objects {
		path := workingPath(o.path)
		if !again[o.id] && (path == "" || !j.finder.AllowsPath(path)) {
			j.clean.add(o.id)
		}
	}
	return hits, nil
}

// read calls give with the texts of objects: blobs in pieces, commit messages, and what stands where the chunks of a large value
// meet. The receiver owns the data. read searches the names in trees itself.
func (j *scan) read(ctx context.Context, objects []object, names *nameSearch, give func(text) error) error {
	values := valueReader{objects: j.store.Objects(), joined: make(map[[2]objstore.ID]bool)}
	done := 0
	return j.contents(ctx, objects, func(o object, kind string, size int64, content io.Reader) error {
		done++
		if j.req.Progress != nil {
			j.req.Progress(done, len(objects))
		}
		j.out.Objects++
		j.out.Bytes += size
		if kind == kindBlob {
			return pieces(o, content, give)
		}
		data := make([]byte, size)
		if _, err := io.ReadFull(content, data); err != nil {
			return err
		}
		switch {
		case kind == kindCommit:
			_, message, _ := bytes.Cut(data, []byte("\n\n"))
			return give(text{o, message, true})
		case kind == kindTree && isValue(o.path):
			return values.edges(o, give)
		case kind == kindTree:
			return names.tree(o, data)
		}
		return nil
	})
}

// nameSearch searches the paths in trees, each path once. A tree has a path even where the receiver has the file's content.
type nameSearch struct {
	*scan
	searched map[string][]hit // by path
	hits     []hit
	again    map[objstore.ID]bool // gets the trees that are not clean at every path
}

// tree searches the paths of the entries of the tree o. A secret in the path of o itself belongs to the tree above.
func (s *nameSearch) tree(o object, data []byte) error {
	entries, err := objstore.DecodeForeignTree(o.id, data)
	for _, e := range entries {
		at := path.Join(o.path, e.Name)
		found, known := s.searched[at]
		if !known {
			name := cmp.Or(workingPath(at), at)
			found = slices.DeleteFunc(s.find(text{object{e.ID, at}, []byte(name), false}), func(h hit) bool { return h.end <= len(name)-len(e.Name) })
			s.searched[at] = found
		}
		for _, h := range found {
			h.id = e.ID
			s.hits = append(s.hits, h)
		}
		if module := workingPath(at); e.Mode == objstore.ModeCommit && module != "" {
			if ids := s.out.Modules[module]; !slices.Contains(ids, e.ID) {
				s.out.Modules[module] = append(ids, e.ID)
			}
			s.again[o.id] = true // each scan reports it
		}
		if len(found) > 0 || s.finder.AllowsPath(workingPath(at)) {
			s.again[o.id] = true
		}
	}
	return err
}

// pieces calls give with the content of an object. A large one comes in pieces that overlap.
func pieces(o object, content io.Reader, give func(text) error) error {
	var before []byte
	for {
		data, err := io.ReadAll(io.LimitReader(content, pieceSize))
		if err != nil {
			return err
		}
		if len(data) == 0 {
			return nil
		}
		last := len(data) < pieceSize
		data = append(bytes.Clone(before), data...)
		if err := give(text{o, data, false}); err != nil || last {
			return err
		}
		before = data[len(data)-pieceOverlap:]
	}
}

// find returns the secrets in t.
func (j *scan) find(t text) []hit {
	found := j.finder.FindIn(workingPath(t.path), t.data)
	hits := make([]hit, len(found))
	for i, f := range found {
		hits[i] = hit{t.object, redact.RuleName(f.Rule), f.Digest(t.data), excerpt(t.data, found, i), t.isMessage, f.End}
	}
	return hits
}

// workingPath returns the path in the working copy of a file at a path in an entry's tree, or "" if the path is not that of a
// captured file. The paths in the user's own commits are not captured files either.
func workingPath(path string) string {
	if rest, ok := strings.CutPrefix(path, "worktree/"); ok {
		return rest
	}
	if rest, ok := strings.CutPrefix(path, "worktrees/"); ok {
		_, rest, _ = strings.Cut(rest, "/")
		return rest
	}
	return ""
}
