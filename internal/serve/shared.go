package serve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/git-smithers/git-smithers/internal/flock"
	"github.com/git-smithers/git-smithers/timeline"
)

// Clients of one repository share one server: a second server for the same working copy passes the bytes of its client on to
// the first. Two servers would be right, too, but each would build many frames in vain while they write the same thread.

// placesFolder is a folder in the store's private folder. It has a lock for each server, and a file with the path of its socket:
// the path of a repository can be too long for a socket.
const placesFolder = "serve"

// The socket is in a folder of its own, which only this user can read, among the system's temporary files.
const (
	socketFolder = "git-smithers-serve-"
	socketName   = "socket"
)

// The number of times that a server looks for another one that is about to start, and about half of the milliseconds after the
// first look.
const (
	looks    = 3
	lookWait = 10
)

// Place is where the server for some clients is found.
type Place struct {
	folder string
	name   string
}

// PlaceOf returns the place of the server in a store's private folder for clients that are alike: they have the same working
// copy, version, promise and environment, which alike lists.
func PlaceOf(private string, alike ...string) Place {
	sum := sha256.Sum256([]byte(strings.Join(alike, "\x00")))
	return Place{filepath.Join(private, placesFolder), hex.EncodeToString(sum[:8])}
}

// note returns the path of the file that has the path of the place's socket.
func (p Place) note() string { return filepath.Join(p.folder, p.name+".at") }

// socket returns the path of the place's socket, or "" if the place has no socket.
func (p Place) socket() string {
	data, err := os.ReadFile(p.note())
	path := string(data)
	if err != nil || filepath.Base(path) != socketName || !strings.HasPrefix(filepath.Base(filepath.Dir(path)), socketFolder) {
		return ""
	}
	return path
}

// listen makes the place's socket, in place of that of a process that was killed. The caller has the lock of the place.
func (p Place) listen(ctx context.Context) (net.Listener, error) {
	if left := p.socket(); left != "" {
		_ = os.RemoveAll(filepath.Dir(left))
	}
	dir, err := os.MkdirTemp("", socketFolder)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, socketName)
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "unix", path)
	if err == nil {
		if err = os.WriteFile(p.note(), []byte(path), 0o600); err == nil {
			return listener, nil
		}
		_ = listener.Close()
	}
	return nil, errors.Join(err, os.RemoveAll(dir))
}

// leave removes the place's socket.
func (p Place) leave() {
	if path := p.socket(); path != "" {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	_ = os.Remove(p.note())
}

// PassOrShare passes the bytes of a client to the server at the place, and its answers back, until the client or that server
// ends. A client whose server ends before it must send again what was not answered. If nobody serves at the place, passed is
// false, and this server answers other clients there until stop is called, which waits for the calls that are under way. If
// the system has no such sockets, nobody else is answered.
func (s *Server) PassOrShare(ctx context.Context, p Place, in io.Reader, out io.Writer) (passed bool, stop func()) {
	alone := func() {}
	for look := range looks {
		if p.pass(ctx, in, out) {
			return true, alone
		}
		if stop := s.share(ctx, p); stop != nil {
			return false, stop
		}
		_ = timeline.Pause(ctx, lookWait<<look) // with the end of ctx, the next look is the last that matters
	}
	return false, alone
}

// pass passes the bytes of a client to the server at the place. If nobody serves there, pass returns false.
func (p Place) pass(ctx context.Context, in io.Reader, out io.Writer) bool {
	if p.socket() == "" {
		return false
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", p.socket())
	if err != nil {
		return false // nobody listens
	}
	defer conn.Close() //nolint:errcheck // everything was read
	go func() {
		_, _ = io.Copy(conn, in)
		if half, ok := conn.(*net.UnixConn); ok {
			_ = half.CloseWrite() // the server answers what it has, and then ends the connection
		}
	}()
	_, _ = io.Copy(out, conn)
	return true
}

// share lets the server answer other clients at the place, until stop is called. It returns nil if another process serves
// there or is about to, or if it cannot listen.
func (s *Server) share(ctx context.Context, p Place) (stop func()) {
	if os.MkdirAll(p.folder, 0o700) != nil {
		return nil
	}
	lock := flock.New(filepath.Join(p.folder, p.name+".lock"), flock.SetPermissions(0o600))
	if locked, err := lock.TryLock(); err != nil || !locked {
		_ = lock.Close()
		return nil
	}
	listener, err := p.listen(ctx)
	if err != nil {
		_ = lock.Close()
		return nil
	}
	others := &guests{server: s}
	others.all.Go(func() { others.accept(ctx, listener) })
	return func() {
		_ = listener.Close()
		p.leave()
		others.leave()
		_ = lock.Close()
	}
}

// guests are the connections of other clients.
type guests struct {
	server *Server
	all    sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool // nil when the server ends
	ended bool
}

// accept answers each client that connects, until the listener is closed.
func (g *guests) accept(ctx context.Context, listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			if timeline.Pause(ctx, lookWait) != nil { // too many open files
				return
			}
			continue
		}
		if !g.enter(conn) {
			_ = conn.Close()
			return
		}
		g.all.Go(func() {
			_ = g.server.Serve(ctx, conn, conn)
			_ = conn.Close()
			g.mu.Lock()
			defer g.mu.Unlock()
			delete(g.conns, conn)
		})
	}
}

// enter notes a connection. It returns false if the server ends.
func (g *guests) enter(conn net.Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended {
		return false
	}
	if g.conns == nil {
		g.conns = make(map[net.Conn]bool)
	}
	g.conns[conn] = true
	return true
}

// leave ends all connections: no call is read any more, and those that were read are answered.
func (g *guests) leave() {
	g.mu.Lock()
	g.ended = true
	for conn := range g.conns {
		if half, ok := conn.(*net.UnixConn); ok {
			_ = half.CloseRead()
		}
	}
	g.mu.Unlock()
	g.all.Wait()
}

// Alike returns the part of an environment that decides how a server works: git's and this program's own variables, and where
// their configuration is.
func Alike(env []string) string {
	var out []string
	for _, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "GIT") || name == "HOME" || strings.HasPrefix(name, "XDG_") || name == "PATH" {
			out = append(out, entry)
		}
	}
	return fmt.Sprintf("%q", out)
}
