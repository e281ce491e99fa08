//go:build unix

package scripttest

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	mathrand "math/rand/v2"
	"os"
	"sync"
)

// scriptRandom is what a process of a script gets in place of chance, so that ids of commits
// are the same every time: each process that asks for any gets bytes of its own, by how many
// did before it. Processes that run side by side get each other's, as it happens.
type scriptRandom struct {
	counter string     // a file that gets a byte from every process
	chance  io.Reader  // for who may not write that file
	mu      sync.Mutex // guards source: variants that run side by side ask at the same time
	source  io.Reader
}

// useScriptRandom makes chance what the environment says.
func useScriptRandom() {
	if counter := os.Getenv("SCRIPT_RANDOM"); counter != "" {
		rand.Reader = &scriptRandom{counter: counter, chance: rand.Reader}
	}
}

func (r *scriptRandom) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.source == nil {
		r.source = r.chance
		if number, err := r.count(); err == nil {
			var seed [32]byte
			binary.LittleEndian.PutUint64(seed[:], uint64(number))
			r.source = mathrand.NewChaCha8(seed)
		}
	}
	return r.source.Read(p)
}

// count is how many processes asked before and including this one.
func (r *scriptRandom) count() (int64, error) {
	file, err := os.OpenFile(r.counter, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o666)
	if err != nil {
		return 0, err
	}
	_, err = file.Write([]byte{'.'})
	at, seekErr := file.Seek(0, io.SeekCurrent)
	return at, errors.Join(err, seekErr, file.Close())
}
