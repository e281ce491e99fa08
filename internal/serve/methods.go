package serve

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/git-smithers/git-smithers/internal/peer/langgraph"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// about says what a call is about.
type about interface {
	// threads returns the ids of the threads that the call is about, or nil for all.
	threads() []string
}

// call is a call with its decoded parameters.
type call interface {
	about

	// run does the call.
	run(ctx context.Context, s *Server) (outcome, error)
}

// change is a call without a result.
type change interface {
	about

	do(ctx context.Context, s *Server) error
}

// changing is a change as a call.
type changing struct{ change }

func (c changing) run(ctx context.Context, s *Server) (outcome, error) {
	return outcome{}, c.do(ctx, s)
}

// outcome is the result of a call, and the blobs to which the result refers by their numbers. A nil result is {}.
type outcome struct {
	result any
	blobs  [][]byte
}

// method decodes the parameters of a call.
type method struct{ decode func(*request) (call, error) }

// methods are the methods of the protocol by name.
var methods = map[string]method{
	"hello":         methodOf[hello](),
	"put":           methodOf[put](),
	"putWrites":     methodOf[putWrites](),
	"getTuple":      methodOf[getTuple](),
	"list":          methodOf[list](),
	"deltaHistory":  methodOf[deltaHistory](),
	"deleteThread":  methodOf[deleteThread](),
	"copyThread":    methodOf[copyThread](),
	"prune":         methodOf[prune](),
	"deleteForRuns": methodOf[deleteForRuns](),
	"flush":         methodOf[flush](),
	"publish":       methodOf[publish](),
}

// blobTaker is a call that gets the blobs of its message.
type blobTaker interface {
	takeBlobs(blobs [][]byte) error
}

// methodOf returns the method whose calls are a C: a call or a change.
func methodOf[C any, P interface {
	*C
	about
}]() method {
	return method{func(req *request) (call, error) {
		c := P(new(C))
		dec := json.NewDecoder(bytes.NewReader(req.Params))
		dec.DisallowUnknownFields()
		if err := dec.Decode(c); err != nil {
			return nil, fault.New(fault.InvalidInput, "the parameters of %s: %w", req.Method, err)
		}
		var out call
		switch c := about(c).(type) {
		case call:
			out = c
		case change:
			out = changing{c}
		}
		if taker, takes := about(c).(blobTaker); takes {
			return out, taker.takeBlobs(req.data)
		}
		return out, checkBlobs(req.data, 0)
	}}
}

// checkBlobs returns invalid_input if a message has not the number of blobs that its parameters say.
func checkBlobs(blobs [][]byte, want int) error {
	if len(blobs) != want {
		return fault.New(fault.InvalidInput, "the call has %d blobs, but its parameters are about %d", len(blobs), want)
	}
	return nil
}

// hello is the first call of a client.
type hello struct {
	Protocol int `json:"protocol"`
	Client   struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"client"`
	Durability string  `json:"durability"` // what the client needs; "" is what the server has
	Log        *string `json:"log"`        // the name of the client's log, "" for a new one; nil if the client wants none

	place *logPlace // of the client's log; nil for none
}

func (*hello) threads() []string { return nil }

func (h *hello) run(ctx context.Context, s *Server) (outcome, error) {
	if h.Protocol != Protocol {
		return outcome{}, fault.New(fault.InvalidInput, "this git-smithers speaks protocol %d, and the client asks for protocol %d", Protocol, h.Protocol).
			Hint("use versions of git-smithers and of the client that fit")
	}
	if h.Durability != "" && h.Durability != s.durability {
		return outcome{}, fault.New(fault.InvalidInput, "the server was started with --durability %s, and the client asks for %s", s.durability, h.Durability)
	}
	if h.Log != nil {
		var err error
		if h.place, err = s.calls.begin(ctx, *h.Log); err != nil {
			s.threads.Store().WarnOnce(err) // the client sends its calls to the server
		}
	}
	return outcome{result: map[string]any{
		"protocol": Protocol, "version": s.version, "format": format, "durability": s.durability, "log": h.place,
		"limits": map[string]int64{"line": maxHeader, "bytes": maxBytes, "blobs": maxBlobs},
	}}, nil
}

func (h *hello) log() *logPlace { return h.place }

// format is the version of the format of runs.
const format = 2

// put stores a checkpoint.
type put struct {
	Thread     string          `json:"thread"`
	NS         string          `json:"ns"`
	ID         string          `json:"id"`
	Parent     *string         `json:"parent"`
	Orphan     bool            `json:"orphan"`
	Checkpoint json.RawMessage `json:"checkpoint"`
	Metadata   json.RawMessage `json:"metadata"`
	Present    []string        `json:"present"`
	Sent       []sent          `json:"sent"`
	Files      bool            `json:"files"`

	blobs [][]byte
}

// sent is a channel whose value is a blob of the call.
type sent struct {
	Channel string    `json:"channel"`
	Type    string    `json:"type"`
	Base    *sentBase `json:"base"`
}

// sentBase names the beginning of an earlier value, which the blob continues.
type sentBase struct {
	Commit objstore.ID `json:"commit"`
	Length int         `json:"length"`
}

func (p *put) takeBlobs(blobs [][]byte) error {
	p.blobs = blobs
	return checkBlobs(blobs, len(p.Sent))
}

func (p *put) threads() []string { return []string{p.Thread} }

// stored returns the checkpoint as threads take it.
func (p *put) stored() langgraph.Put {
	values := make(map[string]langgraph.Sent, len(p.Sent))
	for i, v := range p.Sent {
		value := langgraph.Sent{Value: langgraph.Value{Type: v.Type, Data: p.blobs[i]}}
		if v.Base != nil {
			value.Base = &langgraph.Base{Commit: v.Base.Commit, Length: v.Base.Length}
		}
		values[v.Channel] = value
	}
	return langgraph.Put{
		Key: langgraph.Key{NS: p.NS, ID: p.ID}, Parent: p.Parent, Orphan: p.Orphan, Checkpoint: p.Checkpoint, Metadata: p.Metadata,
		Present: p.Present, Sent: values, Files: p.Files,
	}
}

func (p *put) run(ctx context.Context, s *Server) (outcome, error) {
	done, err := s.threads.Put(ctx, p.Thread, p.stored())
	switch {
	case err != nil:
		return outcome{}, err
	case len(done.Need) > 0 || len(done.Full) > 0:
		return outcome{result: map[string]any{"need": notNil(done.Need), "full": notNil(done.Full)}}, nil
	case done.Commit.IsZero():
		return outcome{result: map[string]any{"dropped": true}}, nil
	}
	return outcome{result: map[string]any{"frame": done.Frame, "commit": done.Commit}}, nil
}

// notNil returns list, or an empty list, so that it is never null in JSON.
func notNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// putWrites stores writes of a task.
type putWrites struct {
	Thread string  `json:"thread"`
	NS     string  `json:"ns"`
	ID     string  `json:"id"`
	Task   string  `json:"task"`
	Path   *string `json:"path"`
	Writes []write `json:"writes"`
	Files  bool    `json:"files"`

	blobs [][]byte
}

// write is a write whose value is a blob.
type write struct {
	Idx     int    `json:"idx"`
	Channel string `json:"channel"`
	Type    string `json:"type"`
}

func (p *putWrites) takeBlobs(blobs [][]byte) error {
	p.blobs = blobs
	return checkBlobs(blobs, len(p.Writes))
}

func (p *putWrites) threads() []string { return []string{p.Thread} }

// stored returns the writes as threads take them.
func (p *putWrites) stored() []langgraph.Write {
	writes := make([]langgraph.Write, len(p.Writes))
	for i, w := range p.Writes {
		writes[i] = langgraph.Write{
			Task: p.Task, Idx: w.Idx, Channel: w.Channel, Path: p.Path, Value: langgraph.Value{Type: w.Type, Data: p.blobs[i]},
		}
	}
	return writes
}

func (p *putWrites) do(ctx context.Context, s *Server) error {
	return s.threads.PutWrites(ctx, p.Thread, langgraph.Key{NS: p.NS, ID: p.ID}, p.stored(), p.Files)
}

// deleteThread deletes a thread.
type deleteThread struct {
	Thread string `json:"thread"`
}

func (d *deleteThread) threads() []string { return []string{d.Thread} }

func (d *deleteThread) do(ctx context.Context, s *Server) error {
	return s.threads.Delete(ctx, d.Thread)
}

// copyThread makes a thread a fork of another.
type copyThread struct {
	From string `json:"from"`
	To   string `json:"to"`
	ID   string `json:"id"` // the checkpoint at which the thread is forked; "" is the newest
}

func (c *copyThread) threads() []string { return []string{c.From, c.To} }

func (c *copyThread) do(ctx context.Context, s *Server) error {
	return s.threads.Copy(ctx, c.From, c.To, c.ID)
}

// prune drops checkpoints or whole threads.
type prune struct {
	Threads  []string `json:"threads"`
	Strategy string   `json:"strategy"` // "keep_latest" or "delete"
}

func (p *prune) threads() []string { return notNil(p.Threads) }

func (p *prune) do(ctx context.Context, s *Server) error {
	one := s.threads.KeepLatest
	switch p.Strategy {
	case "keep_latest":
	case "delete":
		one = s.threads.Delete
	default:
		return fault.New(fault.InvalidInput, "unknown strategy %q", p.Strategy).Hint("the strategies are keep_latest and delete")
	}
	for _, id := range p.Threads {
		if err := one(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// deleteForRuns drops the checkpoints of runs of the client.
type deleteForRuns struct {
	Runs []string `json:"runs"`
}

func (*deleteForRuns) threads() []string { return nil }

func (d *deleteForRuns) run(ctx context.Context, s *Server) (outcome, error) {
	n, err := s.threads.DeleteForRuns(ctx, d.Runs)
	return outcome{result: map[string]any{"checkpoints": n}}, err
}

// dropper is a call that drops what a call in a log must not bring back: it waits until all logs are done.
type dropper interface{ drops() }

func (*prune) drops()         {}
func (*deleteForRuns) drops() {}

// flush is answered when all calls before it are.
type flush struct{}

func (*flush) threads() []string { return nil }

func (*flush) do(context.Context, *Server) error { return nil }

// publish does the calls in the client's log, as every call does, and can begin another log.
type publish struct {
	Anew bool `json:"anew"` // the client wants another log

	own   string // the name of the client's log
	place *logPlace
}

func (*publish) threads() []string { return []string{} } // it waits for no call

func (p *publish) run(ctx context.Context, s *Server) (out outcome, err error) {
	done, late := s.calls.state(p.own)
	result := map[string]any{"done": done, "late": late}
	if p.Anew {
		p.place, err = s.calls.begin(ctx, "")
		result["log"] = p.place
	}
	return outcome{result: result}, err
}

func (p *publish) log() *logPlace { return p.place }
