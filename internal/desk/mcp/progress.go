package mcp

import (
	"context"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// everySecond is a middleware that tells the client of each second that a call takes, if the client wants to know.
func everySecond(tick time.Duration) sdk.Middleware {
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			call, ok := req.(*sdk.CallToolRequest)
			if !ok || call.Params.GetProgressToken() == nil {
				return next(ctx, method, req)
			}
			ctx, over := context.WithCancel(ctx)
			told := make(chan struct{})
			go func() {
				defer close(told)
				ticks := time.NewTicker(tick)
				defer ticks.Stop()
				for n := 1.0; ; n++ {
					select {
					case <-ctx.Done():
						return
					case <-ticks.C:
						_ = call.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
							ProgressToken: call.Params.GetProgressToken(), Progress: n, Message: call.Params.Name + " is at work",
						})
					}
				}
			}()
			defer func() { over(); <-told }() // no progress after the answer
			return next(ctx, method, req)
		}
	}
}
