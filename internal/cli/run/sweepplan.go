package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// parseSweep reads the request from the command line. The error is usage if a flag is misused, and invalid_input if the file of --inputs cannot be read.
// The variants themselves are not checked.
func parseSweep(s *session.Session, cmd *arg.Command, c *urfave.Context) (req app.SweepRequest, err error) {
	req.Workflow = c.Args().First()
	req.Plan = workflow.SweepPlan{From: c.String("from"), Parallel: c.Int("parallel"), StopWhen: c.String("stop-when"), By: c.String("by"), InPlace: c.Bool("in-place")}
	switch {
	case req.Workflow == "" && req.Plan.From == "":
		return req, cmd.Misused("sweep needs a workflow file, or --from with a frame")
	case c.Int("times") < 1 || c.Int("times") > workflow.MaxVariants:
		return req, cmd.Misused("--times cannot be %d", c.Int("times")).Hint("use a number from 1 to %d", workflow.MaxVariants)
	case req.Plan.Parallel < 1:
		return req, cmd.Misused("--parallel cannot be %d", req.Plan.Parallel).Hint("use a number from 1")
	case !c.IsSet("inputs") && !c.IsSet("matrix") && !c.IsSet("times"):
		return req, cmd.Misused("sweep needs variants: --inputs, --matrix or --times")
	}
	if req.Plan.Budget, err = parseBudget(cmd, arg.Texts(c, "budget")); err != nil {
		return req, err
	}
	if req.Group, err = arg.NewRunID(c, "group"); err != nil {
		return req, err
	}
	if req.Settings, err = sweepSettings(s, c); err != nil {
		return req, err
	}
	if req.Plan.Input, err = arg.ReadInput(s, c); err != nil {
		return req, err
	}
	if req.Plan.From != "" {
		req.Effects = requests.ConfirmEffects(s, c.Bool("yes"), false, false)
	}
	return req, readVariants(s, cmd, c, &req)
}

// readVariants sets the variants of the request and their names.
func readVariants(s *session.Session, cmd *arg.Command, c *urfave.Context, req *app.SweepRequest) error {
	variants, names := []json.RawMessage{json.RawMessage("{}")}, []string{""}
	if c.IsSet("inputs") {
		file := c.String("inputs")
		data, err := arg.ReadText(c.Context, s, "--inputs", file)
		if err != nil {
			return err
		}
		if file == "-" {
			file = "standard input"
		}
		variants, names = nil, nil
		for i, line := range bytes.Split(data, []byte("\n")) {
			if line = bytes.TrimSpace(line); len(line) > 0 {
				variants, names = append(variants, line), append(names, fmt.Sprintf("%s:%d", file, i+1))
			}
		}
	}
	for _, text := range arg.Texts(c, "matrix") {
		key, values, err := parseAxis(cmd, text)
		if err != nil {
			return err
		}
		if len(variants)*len(values) > workflow.MaxVariants {
			return tooMany(len(variants) * len(values))
		}
		variants, names = multiply(variants, names, key, values)
	}
	times := c.Int("times")
	if len(variants)*times > workflow.MaxVariants {
		return tooMany(len(variants) * times)
	}
	for i, v := range variants {
		for range times {
			req.Plan.Variants, req.Named = append(req.Plan.Variants, v), append(req.Named, names[i])
		}
	}
	return nil
}

func tooMany(n int) error {
	return fault.New(fault.LimitExceeded, "the sweep would have %d variants; it can have %d", n, workflow.MaxVariants).Hint("divide it into several sweeps")
}

// multiply returns each variant with each value of a member, and their names.
func multiply(variants []json.RawMessage, names []string, key string, values []json.RawMessage) (out []json.RawMessage, outNames []string) {
	for i, v := range variants {
		for _, value := range values {
			with, err := jsontext.Encode(jsontext.Members{{Name: key, Value: value}})
			merged := v
			if err == nil && jsontext.Valid(v) && jsontext.IsObject(v) { // otherwise, the check of the variants refuses v
				if m, err := timeline.MergeInput(v, with); err == nil {
					merged = m
				}
			}
			name := fmt.Sprintf("%s=%s", key, value)
			if names[i] != "" {
				name = names[i] + " with " + name
			}
			out, outNames = append(out, merged), append(outNames, name)
		}
	}
	return out, outNames
}

// parseAxis reads a value of --matrix. A value of the axis that is not JSON is a text.
func parseAxis(cmd *arg.Command, text string) (key string, values []json.RawMessage, err error) {
	key, rest, ok := strings.Cut(text, "=")
	if path, after, err := jsontext.ParsePath(text); err == nil && len(path) > 0 && strings.HasPrefix(after, "=") {
		key, rest, ok = strings.TrimSuffix(text, after), after[1:], true
	}
	if !ok || key == "" || rest == "" {
		return "", nil, cmd.Misused("--matrix cannot be %q", text).Hint("type a name and its values, for example --matrix model=small,large")
	}
	if whole := json.RawMessage(rest); jsontext.Valid(whole) && rest[0] == '[' {
		for value := range jsontext.Elements(whole) {
			values = append(values, bytes.Clone(value))
		}
		if len(values) > 0 {
			return key, values, nil
		}
	}
	for part := range strings.SplitSeq(rest, ",") {
		value := json.RawMessage(strings.TrimSpace(part))
		if !jsontext.Valid(value) {
			if value, err = jsontext.Encode(part); err != nil {
				return "", nil, err
			}
		}
		values = append(values, value)
	}
	return key, values, nil
}

// parseBudget reads the values of --budget; nil if there are none.
func parseBudget(cmd *arg.Command, texts []string) (*workflow.SweepBudget, error) {
	if len(texts) == 0 {
		return nil, nil //nolint:nilnil // no budget
	}
	out := new(workflow.SweepBudget)
	for text := range strings.SplitSeq(strings.Join(texts, ","), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(text), "=")
		var err error
		switch name {
		case "tokens":
			out.Tokens, err = parseTokens(value)
		case "usd":
			out.CostUSD, err = strconv.ParseFloat(value, 64)
			if err == nil && !(out.CostUSD > 0 && out.CostUSD < 1e12) {
				err = strconv.ErrRange
			}
		case "time":
			var d time.Duration
			if d, err = time.ParseDuration(value); err == nil && d < time.Millisecond {
				err = strconv.ErrRange
			}
			out.TimeMs = d.Milliseconds()
		default:
			err = strconv.ErrSyntax
		}
		if err != nil {
			return nil, cmd.Misused("--budget cannot have %q", text).Hint("limits are tokens=2M, usd=5 and time=2h")
		}
	}
	return out, nil
}

// parseTokens reads a number of tokens such as 2000, 500k or 2M.
func parseTokens(text string) (int64, error) {
	factor := int64(1)
	units := map[string]int64{"k": 1e3, "K": 1e3, "m": 1e6, "M": 1e6, "g": 1e9, "G": 1e9}
	if n := len(text); n > 0 && units[text[n-1:]] > 0 {
		factor, text = units[text[n-1:]], text[:n-1]
	}
	n, err := strconv.ParseFloat(text, 64)
	if n *= float64(factor); err == nil && !(n >= 1 && n <= 1e12) {
		err = strconv.ErrRange
	}
	return int64(n), err
}
