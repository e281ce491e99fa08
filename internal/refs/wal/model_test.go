//go:build unix

package wal_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/git-smithers/git-smithers/internal/refs/wal"
	"github.com/git-smithers/git-smithers/objstore"
)

const modelRun = "run"

// model is one run as one process sees it: a ref in the file tip with its lock, packs of entries, and logs.
type model struct {
	dir, rule string
	known     map[string]modelEntry // by id
	packs     map[string]bool       // the packs that were read
}

type modelEntry struct{ parent, op string }

// lockedBuffer has what several processes write.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write adds text to the buffer.
func (l *lockedBuffer) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(text)
}

// String returns everything that was written.
func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// must ends the process of the model if err is not nil.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// dawdle sometimes waits, so that what happens between two steps of other processes happens often.
func dawdle() {
	switch rand.N(12) {
	case 0:
		time.Sleep(rand.N(400 * time.Microsecond))
	case 1:
		time.Sleep(rand.N(40 * time.Microsecond))
	}
}

// runModel is the life of one process.
func runModel(kind string) {
	m := &model{dir: os.Getenv("WAL_DIR"), rule: os.Getenv("WAL_RULE"), known: map[string]modelEntry{}}
	ms, err := strconv.Atoi(os.Getenv("WAL_MS"))
	must(err)
	end := time.Now().Add(time.Duration(ms) * time.Millisecond)
	switch kind {
	case "appender":
		m.appendUntil(end)
	case "mover":
		for i := 0; time.Now().Before(end); i++ {
			op := fmt.Sprintf("mover-%d-%d", os.Getpid(), i)
			m.direct(op)
			m.acknowledge(op, "direct")
			time.Sleep(rand.N(8 * time.Millisecond))
		}
	case "publisher":
		for time.Now().Before(end) {
			m.publishAll()
			time.Sleep(rand.N(4 * time.Millisecond))
		}
	}
}

// commit returns the commit of an entry that follows old, and its id.
func commit(old objstore.ID, op string) (objstore.ID, []byte) {
	data := fmt.Appendf(nil, "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nparent %v\n\n%s", old, op)
	return objstore.Hash(objstore.Commit, data), data
}

func parseID(text string) objstore.ID {
	id, err := objstore.ParseID(text)
	must(err)
	return id
}

// begin makes the first entry of the run.
func (m *model) begin() {
	m.writePack([]string{first.String()}, []modelEntry{{"", "begin"}})
	must(os.WriteFile(m.path("tip"), []byte(first.String()+"\n"), 0o666))
}

func (m *model) path(name string) string { return filepath.Join(m.dir, name) }

// tip returns the value of the ref.
func (m *model) tip() string {
	text, err := os.ReadFile(m.path("tip"))
	must(err)
	return strings.TrimSuffix(string(text), "\n")
}

// writePack writes entries as one pack: into another folder, and then under its name.
func (m *model) writePack(ids []string, entries []modelEntry) {
	var b bytes.Buffer
	for i, e := range entries {
		fmt.Fprintf(&b, "%s,%s,%s\n", ids[i], e.parent, e.op)
	}
	tmp := m.path(fmt.Sprintf("tmp/%d-%d", os.Getpid(), rand.Uint64()))
	must(os.WriteFile(tmp, b.Bytes(), 0o666))
	dawdle()
	must(os.Rename(tmp, m.path("packs/"+ids[0]+"-"+ids[len(ids)-1])))
}

// get returns an entry of a pack.
func (m *model) get(id string) modelEntry {
	if e, ok := m.known[id]; ok {
		return e
	}
	if m.packs == nil {
		m.packs = map[string]bool{}
	}
	files, err := os.ReadDir(m.path("packs"))
	must(err)
	for _, f := range files {
		if m.packs[f.Name()] {
			continue
		}
		m.packs[f.Name()] = true
		text, err := os.ReadFile(m.path("packs/" + f.Name()))
		must(err)
		for line := range strings.Lines(string(text)) {
			parts := strings.Split(strings.TrimSuffix(line, "\n"), ",")
			m.known[parts[0]] = modelEntry{parts[1], parts[2]}
		}
	}
	e, ok := m.known[id]
	if !ok {
		panic("the object is missing: " + id)
	}
	return e
}

// lock takes the ref's lock for a move to new. It removes the lock of a dead process, and then returns false as for a living one.
func (m *model) lock(to string) bool {
	tmp := m.path(fmt.Sprintf("tmp/lock-%d", os.Getpid()))
	must(os.WriteFile(tmp, []byte(strconv.Itoa(os.Getpid())+" "+to), 0o666))
	err := os.Link(tmp, m.path("tip.lock"))
	if err == nil {
		return true
	}
	if !errors.Is(err, fs.ErrExist) {
		panic(err)
	}
	content, err := os.ReadFile(m.path("tip.lock"))
	if err != nil {
		return false
	}
	owner, _, _ := strings.Cut(string(content), " ")
	if pid, err := strconv.Atoi(owner); err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		unlock := flockFile(m.path("break"))
		if now, err := os.ReadFile(m.path("tip.lock")); err == nil && bytes.Equal(now, content) {
			_ = os.Remove(m.path("tip.lock"))
		}
		unlock()
	}
	return false
}

// flockFile takes the flock of a file, which it makes if there is none.
func flockFile(path string) (unlock func()) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o666)
	must(err)
	must(syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
	return func() { must(f.Close()) }
}

// move moves the ref as git does. If guard is set, it looks at the logs under the lock, and does not move the ref if a record goes on
// from it. move is weaker than one rename: the ref moves, and the lock is removed after that.
func (m *model) move(from, to string, guard bool) bool {
	for !m.lock(to) {
		time.Sleep(20*time.Microsecond + rand.N(100*time.Microsecond))
		if m.tip() != from {
			return false
		}
	}
	defer func() { must(os.Remove(m.path("tip.lock"))) }()
	dawdle()
	if guard && m.rule != noGuard && m.isPending(from) {
		return false
	}
	dawdle()
	if m.tip() != from {
		return false
	}
	tmp := m.path(fmt.Sprintf("tmp/ref-%d", os.Getpid()))
	must(os.WriteFile(tmp, []byte(to+"\n"), 0o666))
	must(os.Rename(tmp, m.path("tip")))
	return true
}

// logs returns the paths of all logs.
func (m *model) logs() []string {
	paths, err := filepath.Glob(m.path("wal/*"))
	must(err)
	return paths
}

// isPending reports whether a record of any log goes on from the tip.
func (m *model) isPending(tip string) bool {
	return slices.ContainsFunc(m.logs(), func(path string) bool {
		f, err := os.Open(path)
		if err != nil {
			return false // the log was removed, so all of it is published
		}
		defer f.Close() //nolint:errcheck // the file is only read
		if m.rule != guardNoGate {
			must(syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
		}
		records, _ := readLog(f)
		dawdle()
		return len(following(records, modelRun, parseID(tip))) > 0
	})
}

// readLog returns the records of a log behind its mark, and all of them.
func readLog(f *os.File) (unpublished, all []wal.Record) {
	log, err := io.ReadAll(f)
	must(err)
	head, err := wal.ParseHead(log)
	if errors.Is(err, wal.ErrUnfinished) {
		return nil, nil
	}
	must(err)
	all, _, err = head.Start().Records(log[wal.HeadSize:])
	must(err)
	from := head.Unpublished()
	unpublished, _, err = from.Records(log[from.Offset():])
	must(err)
	return unpublished, all
}

// publishAll publishes all records that go on from the tip, and removes the logs of dead processes.
func (m *model) publishAll() {
	for _, path := range m.logs() {
		for m.publish(path) {
		}
		m.recover(path)
	}
}

// publish publishes the records of a log that go on from the tip. It returns true if the tip was moved elsewhere meanwhile.
func (m *model) publish(path string) (again bool) {
	tip := m.tip()
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	records, _ := readLog(f)
	must(f.Close())
	records = following(records, modelRun, parseID(tip))
	if len(records) == 0 {
		return false
	}
	dawdle()
	var ids []string
	var entries []modelEntry
	for _, r := range records {
		must(r.CheckObjects())
		ids = append(ids, r.New.String())
		entries = append(entries, modelEntry{r.Old.String(), opOf(r)})
	}
	m.writePack(ids, entries)
	if !m.move(tip, ids[len(ids)-1], false) {
		return true
	}
	dawdle()
	// Another publisher may be further and have written its mark already. An older mark is a hint, too.
	setMark(path, records[len(records)-1].End.Mark())
	return false
}

// setMark writes the mark of a log, in two parts, unless the log was removed.
func setMark(path string, mark wal.Mark) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	must(err)
	b := mark.Append(nil)
	cut := rand.N(len(b))
	_, err = f.WriteAt(b[:cut], wal.MarkOffset)
	must(err)
	dawdle()
	_, err = f.WriteAt(b[cut:], wal.MarkOffset+int64(cut))
	must(errors.Join(err, f.Close()))
}

// opOf returns the name of a record's capture.
func opOf(r wal.Record) string {
	_, op, _ := strings.Cut(string(r.Objects[len(r.Objects)-1].Data), "\n\n")
	return op
}

// recover removes the log of a dead process, if all of it is published or forked.
func (m *model) recover(path string) {
	ownerPath := m.path("owners/" + filepath.Base(path))
	owner, err := os.OpenFile(ownerPath, os.O_RDWR, 0)
	if err != nil {
		return // another process has just removed both
	}
	defer owner.Close() //nolint:errcheck // nothing is written
	if syscall.Flock(int(owner.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return // the process is alive, or another one recovers
	}
	f, err := os.Open(path)
	if err != nil {
		return
	}
	defer f.Close() //nolint:errcheck // the file is only read
	must(syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
	_, records := readLog(f)
	tip := m.tip()
	if len(following(records, modelRun, parseID(tip))) > 0 {
		return // to be published first
	}
	in := map[string]bool{}
	for id := tip; id != ""; id = m.get(id).parent {
		in[id] = true
	}
	for _, r := range records {
		if !in[r.New.String()] {
			appendLine(m.path("forks"), opOf(r))
		}
	}
	must(os.Remove(path))
	must(os.Remove(ownerPath))
}

// appendLine appends a line to a file in one write.
func appendLine(path, line string) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	must(err)
	_, err = f.WriteString(line + "\n")
	must(errors.Join(err, f.Close()))
}

// acknowledge says that a capture is answered.
func (m *model) acknowledge(op, how string) { appendLine(m.path("acknowledged"), op+" "+how) }

// direct moves the ref to a new entry, as a single command does: publish, move, and again if another process was faster. It returns
// the entry's id, or "" if the entry of op is in the chain already.
func (m *model) direct(op string) string {
	for since := ""; ; time.Sleep(rand.N(300 * time.Microsecond)) {
		m.publishAll()
		tip := m.tip()
		for id := tip; id != since && id != ""; id = m.get(id).parent {
			if m.get(id).op == op {
				return ""
			}
		}
		since = tip
		newID, _ := commit(parseID(tip), op)
		id := newID.String()
		m.writePack([]string{id}, []modelEntry{{tip, op}})
		if m.move(tip, id, true) {
			return id
		}
	}
}
