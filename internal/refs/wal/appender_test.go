//go:build unix

package wal_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/git-smithers/git-smithers/internal/refs/wal"
	"github.com/git-smithers/git-smithers/objstore"
)

// appender is a process of the model that has a log.
type appender struct {
	*model
	log    *os.File
	cursor wal.Cursor
	own    map[string]bool // the value to which this process moved the ref, and the entries appended after it; empty: may not append
	last   string
}

// appendUntil makes captures until the time end: it moves the ref, and then appends for as long as nobody else moves it.
func (m *model) appendUntil(end time.Time) {
	a := &appender{model: m}
	a.makeLog()
	for i := 0; time.Now().Before(end); i++ {
		op := fmt.Sprintf("appender-%d-%d", os.Getpid(), i)
		if a.last == "" && m.rule == noOwnership {
			m.publishAll()
			a.adopt(m.tip())
		}
		switch {
		case a.last == "":
			a.adopt(m.direct(op))
			m.acknowledge(op, "direct")
		case a.append(op):
			m.acknowledge(op, "appended")
		default: // the ref was moved by another process
			a.adopt("")
			m.direct(op)
			m.acknowledge(op, "direct")
		}
		if rand.N(40) == 0 {
			m.publishAll()
		}
		if rand.N(6) == 0 {
			time.Sleep(rand.N(500 * time.Microsecond))
		}
	}
	m.publishAll()
}

// adopt makes id the value from which this process may append, or none if id is "".
func (a *appender) adopt(id string) { a.own, a.last = map[string]bool{id: true}, id }

// makeLog makes the owner file and then the log.
func (a *appender) makeLog() {
	name := fmt.Sprintf("%d-%x", os.Getpid(), rand.Uint32())
	owner, err := os.OpenFile(filepath.Join(a.dir, "tmp", name), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o666)
	must(err)
	must(syscall.Flock(int(owner.Fd()), syscall.LOCK_EX)) // until the process ends
	must(os.Rename(owner.Name(), a.path("owners/"+name)))
	a.log, err = os.OpenFile(a.path("wal/"+name), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	must(err)
	head := wal.Head{IDSize: 20, MadeMs: uint64(time.Now().UnixMilli())}
	for i := range head.Random {
		head.Random[i] = byte(rand.N(256))
	}
	_, err = a.log.Write(head.Append(nil))
	must(err)
	a.cursor = head.Start()
	openOwner = owner
}

// openOwner keeps the owner file from being closed, which would release its flock.
var openOwner *os.File

// append appends a capture to the log. It returns false if another process has moved the ref.
func (a *appender) append(op string) bool {
	gate := int(a.log.Fd())
	old := parseID(a.last)
	id, data := commit(old, op)
	for {
		if a.rule != writerNoGate {
			must(syscall.Flock(gate, syscall.LOCK_EX))
		}
		if a.rule == noCheck || a.rule == noLock || a.mayPass() {
			break
		}
		must(syscall.Flock(gate, syscall.LOCK_UN))
		time.Sleep(20 * time.Microsecond)
		if rand.N(50) == 0 && a.lock("") { // its owner may be dead
			must(os.Remove(a.path("tip.lock")))
		}
	}
	dawdle()
	// The ref is read after the lock: a mover takes the lock before it looks at the logs.
	mine := a.own[a.tip()] || a.rule == noCheck
	if mine {
		dawdle()
		a.write(wal.Record{Run: modelRun, Old: old, New: id, Objects: []wal.Object{{Kind: objstore.Commit, Data: data}}})
	}
	must(syscall.Flock(gate, syscall.LOCK_UN))
	if mine {
		dawdle()
		a.own[id.String()], a.last = true, id.String()
	}
	return mine
}

// mayPass reports whether nobody holds the ref's lock, or only a publication of this process's records, whoever makes it.
func (a *appender) mayPass() bool {
	content, err := os.ReadFile(a.path("tip.lock"))
	_, to, _ := strings.Cut(string(content), " ")
	return err != nil || a.own[to] || a.rule == anyLock
}

// write writes a record in two parts, as a process that is killed meanwhile does.
func (a *appender) write(r wal.Record) {
	b, next, err := a.cursor.Append(nil, r)
	must(err)
	cut := rand.N(len(b))
	_, err = a.log.WriteAt(b[:cut], a.cursor.Offset())
	must(err)
	if rand.N(10) == 0 {
		dawdle()
	}
	_, err = a.log.WriteAt(b[cut:], a.cursor.Offset()+int64(cut))
	must(err)
	a.cursor = next
}
