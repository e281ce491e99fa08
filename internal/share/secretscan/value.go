package secretscan

import (
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
)

// valueReader reads what stands where the chunks of a large value meet: a secret may be cut there. See "Large values" in
// docs/format.md.
type valueReader struct {
	objects objstore.Reader
	joined  map[[2]objstore.ID]bool // the pairs of chunks that were read
}

// isValue reports whether the tree at path may be a large value.
func isValue(path string) bool {
	return path == "input" || strings.HasPrefix(path, "input/") || strings.Contains(path, "/values/")
}

// edges calls give with the bytes on both sides of each place where two chunks meet in the tree o.
func (v *valueReader) edges(o object, give func(text) error) error {
	chunks, err := v.chunks(o.id)
	if err != nil {
		return err
	}
	for i := 1; i < len(chunks); i++ {
		pair := [2]objstore.ID{chunks[i-1], chunks[i]}
		if v.joined[pair] {
			continue
		}
		v.joined[pair] = true
		before, err := v.blob(pair[0])
		if err != nil {
			return err
		}
		after, err := v.blob(pair[1])
		if err != nil {
			return err
		}
		edge := append(append([]byte{}, before[max(0, len(before)-edgeSize):]...), after[:min(edgeSize, len(after))]...)
		if err := give(text{o, edge, false}); err != nil {
			return err
		}
	}
	return nil
}

// chunks returns the blobs of a large value, in order, or nil if the tree is not a large value.
func (v *valueReader) chunks(tree objstore.ID) ([]objstore.ID, error) {
	entries, err := objstore.ReadForeignTree(v.objects, tree)
	if err != nil {
		return nil, err
	}
	var out []objstore.ID
	for _, e := range entries {
		if strings.Trim(e.Name, "0123456789abcdef") != "" {
			return nil, nil
		}
		if e.Mode != objstore.ModeTree {
			out = append(out, e.ID)
			continue
		}
		below, err := v.chunks(e.ID)
		if err != nil {
			return nil, err
		}
		out = append(out, below...)
	}
	return out, nil
}

// blob returns the content of a chunk. A chunk has at most 128 KiB.
func (v *valueReader) blob(id objstore.ID) ([]byte, error) {
	const most = 1 << 20
	return objstore.GetBlob(v.objects, id, most)
}
