package gate

import (
	"bytes"
	"context"
	"io"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/redact"
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
		return j.read(ctx, objects, func(t text) error {
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
	again := make(map[objstore.ID]bool, len(hits))
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

// read calls give with the texts of objects: blobs in pieces, commit messages, names of files, and what stands where the chunks of a
// large value meet. The receiver owns the data.
func (j *scan) read(ctx context.Context, objects []object, give func(text) error) error {
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
			if name := workingPath(o.path); name != "" {
				if err := give(text{o, []byte(name), false}); err != nil {
					return err
				}
			}
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
		}
		return nil
	})
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
		hits[i] = hit{t.object, redact.RuleName(f.Rule), f.Digest(t.data), excerpt(t.data, found, i), t.isMessage}
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
