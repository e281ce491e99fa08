package serve

import (
	"bufio"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/git-smithers/git-smithers/internal/peer/langgraph"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// readAhead is the number of bytes of calls that a server holds at once. A larger call waits until nothing else is held.
const readAhead = 64 << 20

// Protocol is the version of the protocol.
const Protocol = 1

// Server answers the calls of clients about the threads of one repository.
type Server struct {
	threads    *langgraph.Threads
	version    string // of this program
	durability string
	order      order
	calls      *Calls
}

// New returns a server for threads. version is that of this program, and durability what the threads' store promises.
func New(threads *langgraph.Threads, version, durability string) *Server {
	return &Server{threads: threads, version: version, durability: durability, calls: callsOf(threads, durability == "durable")}
}

// Serve answers the calls in a stream until it ends. Calls about the same thread take effect in their order, and any number
// of others at once. If a message is broken, so that the next one cannot be found, Serve answers it and returns the error.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	c := &connection{server: s, out: bufio.NewWriterSize(out, headroom)}
	c.room = sync.NewCond(&c.held)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	r := bufio.NewReaderSize(in, headroom)
	for {
		req, err := readRequest(r)
		if errors.Is(err, io.EOF) {
			break
		}
		if req == nil {
			req = new(request)
		}
		if err == nil {
			err = c.take(ctx, req)
		}
		if err != nil {
			c.answer(req, outcome{}, err)
			if errors.Is(err, errBroken) || !isFault(err) {
				c.calls.Wait()
				return errors.Join(timeline.Explain(err), s.calls.leave(ctx, c.own()))
			}
		}
	}
	c.calls.Wait() // what was asked for is done, though nobody may hear of it
	return timeline.Explain(s.calls.leave(ctx, c.own()))
}

// isFault reports whether an error is one of ours, and not of a stream.
func isFault(err error) bool {
	_, is := errors.AsType[*fault.Error](err)
	return is
}

// connection is a stream of calls and answers.
type connection struct {
	server *Server
	calls  sync.WaitGroup

	held  sync.Mutex
	room  *sync.Cond
	bytes int64 // of the calls that are not answered; guarded by held
	hello bool  // the client has said hello; of the reading goroutine alone

	log string // the name of the client's log; "" for none. Guarded by held

	writes sync.Mutex
	out    *bufio.Writer
}

// take begins a call. It waits while too many bytes of calls are held.
func (c *connection) take(ctx context.Context, req *request) error {
	m, found := methods[req.Method]
	switch {
	case req.ID == nil:
		return fault.New(fault.InvalidInput, "the call has no id")
	case !found:
		return fault.New(fault.InvalidInput, "there is no method %q", req.Method).Hint("`%s help protocol` has the methods of protocol %d", fault.Program, Protocol)
	case !c.hello && req.Method != "hello":
		return fault.New(fault.InvalidInput, "the first call must be hello, not %q", req.Method)
	}
	call, err := m.decode(req)
	if err != nil {
		return err
	}
	if req.Method == "hello" { // before anything else is read
		done, err := call.run(ctx, c.server)
		c.hello = err == nil
		c.use(call)
		c.answer(req, done, err)
		return nil
	}
	c.hold(req.size)
	wait, done := c.server.order.enter(call.threads())
	c.calls.Go(func() {
		defer c.release(req.size)
		defer done()
		wait()
		var result outcome
		err := c.publish(ctx, call)
		if err == nil {
			result, err = call.run(ctx, c.server)
			c.use(call)
		}
		c.answer(req, result, err)
	})
	return nil
}

// publish does what waits in logs before a call is done.
func (c *connection) publish(ctx context.Context, before call) error {
	calls, own := c.server.calls, c.own()
	if p, is := before.(*publish); is {
		p.own = own
	}
	inner, _ := before.(changing)
	_, drops := before.(dropper)
	_, innerDrops := inner.change.(dropper)
	if !drops && !innerDrops {
		return calls.publish(ctx, own, false)
	}
	if err := calls.publish(ctx, own, true); err != nil {
		return err
	}
	return calls.sync()
}

// use notes the log that a call has given to the client.
func (c *connection) use(done call) {
	if giver, is := done.(interface{ log() *logPlace }); is && giver.log() != nil {
		c.held.Lock()
		defer c.held.Unlock()
		c.log = giver.log().Name
	}
}

// own returns the name of the client's log; "" for none.
func (c *connection) own() string {
	c.held.Lock()
	defer c.held.Unlock()
	return c.log
}

// hold waits until there is room for the bytes of a call.
func (c *connection) hold(size int64) {
	c.held.Lock()
	defer c.held.Unlock()
	for c.bytes > 0 && c.bytes+size > readAhead {
		c.room.Wait()
	}
	c.bytes += size
}

// release gives back the room of a call.
func (c *connection) release(size int64) {
	c.held.Lock()
	defer c.held.Unlock()
	c.bytes -= size
	c.room.Broadcast()
}

// answer writes the answer to a call. If the client does not read any more, nobody hears of it.
func (c *connection) answer(req *request, done outcome, err error) {
	a := answer{ID: req.ID, Result: done.result}
	if err != nil {
		a.Result, a.Error, done.blobs = nil, replyOf(err), nil
	} else if done.result == nil {
		a.Result = struct{}{}
	}
	c.writes.Lock()
	defer c.writes.Unlock()
	_ = a.write(c.out, done.blobs)
}

// replyOf returns an error as an answer has it.
func replyOf(err error) *errorReply {
	var e *fault.Error
	if !errors.As(timeline.Explain(err), &e) {
		return &errorReply{Code: fault.Internal, Message: err.Error(), Hints: []string{}}
	}
	hints := e.Hints
	if hints == nil {
		hints = []string{}
	}
	return &errorReply{Code: e.Code, Message: e.Msg, Hints: hints}
}
