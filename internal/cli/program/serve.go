package program

import (
	"context"
	"errors"
	"io"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/peer/langgraph"
	"github.com/git-smithers/git-smithers/internal/serve"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// mergeEvery is the number of writes after which a server merges packs. To merge costs as much as all the rest if it is done every 8
// writes, as for engines whose entries come rarely. git gc --auto repacks everything above 50 packs.
const mergeEvery = 40

// The values of serve --durability.
const (
	durable      = "durable"
	outlivesOnly = "process"
)

func serveCommand() *arg.Command {
	return &arg.Command{
		Name:    "serve",
		Summary: "answer a program that keeps its threads here, such as LangGraph",
		Usage:   []string{"--stdio [--durability process|durable]"},
		About: `Reads calls from standard input and answers them on standard output until the input ends. The npm
package @git-smithers/langgraph starts this command; git smithers help protocol shows its page.

--durability process (the default) answers when a write outlives the program. After a power
cut, threads are whole, and may lack their last moments. --durability durable answers when the
write is on stable storage.`,
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "stdio", Usage: "speak over standard input and output"},
			&urfave.StringFlag{Name: "durability", Value: outlivesOnly, Usage: "what an answer `PROMISES`: process or durable"},
		},
		Exits:    arg.Writes(),
		Examples: []arg.Example{{"what a client starts", "git smithers serve --stdio"}},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			if !c.Bool("stdio") {
				return fault.New(fault.Usage, "serve needs --stdio").Hint("a program starts `git smithers serve --stdio`")
			}
			durability := c.String("durability")
			if durability != durable && durability != outlivesOnly {
				return fault.New(fault.Usage, "unknown durability %q", durability).Hint("it is process or durable")
			}
			return runServe(ctx, s, durability)
		},
	}
}

// runServe answers the calls on standard input until it ends, or passes them to the server that does so for another client.
func runServe(ctx context.Context, s *session.Session, durability string) error {
	store, err := timeline.Open(ctx, timeline.Options{
		Dir: s.Dir, Env: s.Env, Now: s.Now, Warn: s.Warn, LateNames: durability != durable, UpkeepEvery: mergeEvery,
	})
	if err != nil {
		return err
	}
	place := serve.PlaceOf(store.Private(), store.Repo().CommonDir, store.Workspace().Root, Version(), durability, serve.Alike(s.Env))
	threads := langgraph.Open(store)
	threads.Told = requests.Open(s, store).Notify
	server := serve.New(threads, Version(), durability)
	in := untilSignal(ctx, s.In)
	ctx = context.WithoutCancel(ctx) // a call under way is done also after Ctrl-C
	passed, stop := server.PassOrShare(ctx, place, in, s.RawOut())
	if !passed {
		err = server.Serve(ctx, in, s.RawOut())
		stop()
	}
	return errors.Join(err, store.Close()) //nolint:contextcheck // closing must finish even after Ctrl-C
}

// untilSignal returns a reader of in that also ends when ctx does: the server then answers what it has read, and its clients
// send the rest to another one.
func untilSignal(ctx context.Context, in io.Reader) io.Reader {
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, in)
		if ctx.Err() != nil {
			err = nil // a signal ends the input also where in reports it as an error
		}
		_ = w.CloseWithError(err) // nil is the end of the input
	}()
	context.AfterFunc(ctx, func() { _ = w.Close() })
	return r
}
