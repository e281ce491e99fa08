package objstore

import (
	"bytes"
	"errors"
	"os"
	"sync"

	"github.com/git-smithers/git-smithers/internal/fsx"
)

// Author is the author of this program's commits. A pack whose first object is a commit by Author
// counts as made by this program, and may be merged.
const Author = "git-smithers <git-smithers@localhost.invalid>"

// packOwners determines whether this program has made a pack. It is safe for concurrent use.
type packOwners struct {
	dir *objectDir

	mu      sync.Mutex
	foreign map[string]bool // names of packs to leave alone; most were made by other programs
}

// newPackOwners returns a packOwners for the packs of dir, with no foreign packs.
func newPackOwners(dir *objectDir) *packOwners {
	return &packOwners{dir: dir, foreign: make(map[string]bool)}
}

// isOurs reports whether this program made the pack with the given name. If another program made it, isOurs
// marks the pack as foreign. If the pack is unreadable, isOurs returns false without marking the pack.
func (o *packOwners) isOurs(name string) bool {
	p := o.dir.openAside(name)
	ours, err := p.firstIsOurs()
	if err == nil && !ours {
		o.setForeign(name)
	}
	return errors.Join(err, p.close()) == nil && ours
}

// isForeign reports whether the pack with the given name is marked as foreign, so that this process leaves the
// pack alone.
func (o *packOwners) isForeign(name string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.foreign[name]
}

// setForeign marks the pack with the given name as foreign, so that this process leaves the pack alone.
func (o *packOwners) setForeign(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.foreign[name] = true
}

// authorLine is the start of the author line of this program's commits.
var authorLine = []byte("\nauthor " + Author + " ")

// firstIsOurs reports whether the first object of the pack is a commit by [Author]. A commit that is stored as
// a delta does not count. If the object is damaged, the error is a [*CorruptError].
func (p *pack) firstIsOurs() (bool, error) {
	f, end, err := p.open()
	if err != nil {
		return false, err
	}
	c := p.cursors.get(f, end)
	defer p.cursors.put(c)
	ours, err := firstIsOurs(c)
	if err != nil {
		return false, p.explain(ID{}, c, err)
	}
	return ours, nil
}

// firstIsOurs reports whether the first object of the pack that c reads is a commit by [Author]. A commit that
// is stored as a delta does not count. An error is about a damaged entry or about reading.
func firstIsOurs(c *packCursor) (bool, error) {
	const longestCommit = 1 << 20 // bytes; the commits of this program are far smaller
	head, err := c.entryHead(packHeadSize)
	if err != nil || head.kind != uint8(Commit) || head.size > longestCommit {
		return false, err
	}
	data, err := c.stream(head)
	return isOurCommit(data), err
}

// isOurCommit reports whether data is the content of a commit by [Author].
func isOurCommit(data []byte) bool {
	headers, _, _ := bytes.Cut(data, []byte("\n\n"))
	return bytes.Contains(headers, authorLine)
}

// headIsOurs reports whether the first object of the pack file at path is a commit by [Author]. It
// needs no index. It returns false if the file is unreadable.
func headIsOurs(path string, hash Algorithm) bool {
	f, err := fsx.OpenShared(path, os.O_RDONLY)
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // The file is only read.
	info, err := f.Stat()
	if err != nil {
		return false
	}
	c := &packCursor{hash: hash}
	c.use(f, info.Size()-int64(hash))
	ours, err := firstIsOurs(c)
	return err == nil && ours
}
