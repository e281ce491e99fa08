package objstore

import (
	"bytes"
	"errors"
	"os"
	"sync"
)

// Author is the author of this program's commits. A pack whose first object is a commit by Author
// may be merged.
const Author = "git-smithers <git-smithers@localhost.invalid>"

// packOwners finds out which packs this program has made. Safe for concurrent use.
type packOwners struct {
	dir *objectDir

	mu      sync.Mutex
	foreign map[string]bool // names of packs to leave alone, most of them made by other programs
}

func newPackOwners(dir *objectDir) *packOwners {
	return &packOwners{dir: dir, foreign: make(map[string]bool)}
}

// isOurs reports whether this program has made a pack, and remembers if it has not. An unreadable
// pack is left to git.
func (o *packOwners) isOurs(name string) bool {
	p := o.dir.openAside(name)
	ours, err := p.firstIsOurs()
	if err == nil && !ours {
		o.setForeign(name)
	}
	return errors.Join(err, p.close()) == nil && ours
}

// isForeign reports whether a pack is remembered as one to leave alone.
func (o *packOwners) isForeign(name string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.foreign[name]
}

// setForeign remembers a pack as one to leave alone.
func (o *packOwners) setForeign(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.foreign[name] = true
}

// authorLine is the start of the author line by which this program recognizes its own commits.
var authorLine = []byte("\nauthor " + Author + " ")

// firstIsOurs reports whether the first object of the pack is a commit by [Author].
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

func firstIsOurs(c *packCursor) (bool, error) {
	const longestCommit = 1 << 20 // of this program; a real one is far smaller
	head, err := c.entryHead(packHeadSize)
	if err != nil || head.kind != uint8(Commit) || head.size > longestCommit {
		return false, err
	}
	data, err := c.stream(head)
	return isOurCommit(data), err
}

// isOurCommit reports whether the author of a commit is [Author].
func isOurCommit(data []byte) bool {
	headers, _, _ := bytes.Cut(data, []byte("\n\n"))
	return bytes.Contains(headers, authorLine)
}

// headIsOurs is firstIsOurs for a pack without an index. It returns false for a file that it cannot
// read.
func headIsOurs(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // it is only read
	info, err := f.Stat()
	if err != nil {
		return false
	}
	c := &packCursor{}
	c.use(f, info.Size()-packTailSize)
	ours, err := firstIsOurs(c)
	return err == nil && ours
}
