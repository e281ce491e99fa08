package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net/url"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// The addresses of resources.
const (
	runsURI  = "smithers://runs"
	runURI   = "smithers://run/"
	textMIME = "text/plain"
)

// addResources adds the list of runs, each run and each frame as resources.
func (s *server) addResources(to *sdk.Server) {
	to.AddResource(&sdk.Resource{URI: runsURI, Name: "runs", Title: "Runs and sessions", MIMEType: textMIME}, s.readResource)
	to.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: runURI + "{run}", Name: "run", Title: "How a run or session stands", MIMEType: textMIME}, s.readResource)
	to.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: runURI + "{run}/{frame}", Name: "frame", Title: "The state of a frame", MIMEType: textMIME}, s.readResource)
	to.AddReceivingMiddleware(s.listRuns)
}

// readResource returns the first page of what a resource is.
func (s *server) readResource(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	uri := req.Params.URI
	c := line("runs")
	if rest, ok := strings.CutPrefix(uri, runURI); ok {
		run, frame, _ := strings.Cut(rest, "/")
		run, err := url.PathUnescape(run)
		if err != nil {
			return nil, sdk.ResourceNotFoundError(uri)
		}
		if frame != "" {
			run += ":" + frame
		}
		c = showInput{At: run}.command()
	}
	c.now = s.streams.Now()
	done, err := s.run(ctx, c)
	switch {
	case err != nil:
		return nil, err
	case done.status == fault.ExitNotFound:
		return nil, sdk.ResourceNotFoundError(uri)
	case done.failed():
		return nil, fault.New(fault.Internal, "%s", done.notes)
	}
	text, rest := cut(done.text, maxPage)
	if text = quote(text); rest != "" {
		text += "There is more: the tool show reads on\n"
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: textMIME, Text: text}}}, nil
}

// listRuns is a middleware that adds the newest runs to the list of resources.
func (s *server) listRuns(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		res, err := next(ctx, method, req)
		list, ok := res.(*sdk.ListResourcesResult)
		if err != nil || !ok {
			return res, err
		}
		c := line("--json", "runs", "--limit=50")
		c.now = s.streams.Now()
		done, err := s.run(ctx, c)
		if err != nil {
			return nil, err
		}
		for lines := bufio.NewScanner(bytes.NewReader(done.raw)); lines.Scan(); {
			var run struct{ RunID string }
			if json.Unmarshal(lines.Bytes(), &run) == nil {
				list.Resources = append(list.Resources, &sdk.Resource{URI: runURI + url.PathEscape(run.RunID), Name: term.Visible(plain.Text(run.RunID)), MIMEType: textMIME})
			}
		}
		return list, nil
	}
}
