package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/refs"
)

// maxSaid is the maximum length of the stored message of a refusal, in bytes.
const maxSaid = 2000

// verdict is the result of one git push for one ref. If a remote has several push URLs, the largest verdict counts.
type verdict uint8

const (
	unknown  verdict = iota // git gave no result
	current                 // the remote has the ref already
	done                    // the push moved the ref
	heldUp                  // the ref did not move because of other refs in its chunk
	raced                   // another process locked or moved the ref during this push
	stale                   // the ref does not have the expected value
	declined                // the remote refuses the move
	unsent                  // this repository cannot read objects that the ref needs
)

// answer is a verdict and its reason. The reason is a message of git or of the remote, or "".
type answer struct {
	verdict verdict
	reason  string
}

// push runs git push for one chunk and returns the answer for each ref of the chunk:
//   - If git cannot read an object of this repository, the answer for each ref is unsent.
//   - If the remote or a proxy refuses the push as a whole, the answer for each ref is declined.
//   - Otherwise git reports the answer for each ref: see parsePorcelain.
//
// If the remote does not support atomic pushes, push sets p.atomic to false and tries again. After any other failure
// that leaves a ref without an answer, push returns the error of classify or an error that wraps ErrRemote. If ctx has
// ended, or git did not run, push returns the error of git unchanged.
func (p *pusher) push(ctx context.Context, chunk []Move) (map[refs.Name]answer, error) {
	process := p.t.process(p.args(chunk), p.settings())
	if p.from != "" {
		process.Options[0] = "--git-dir=" + p.from
		process.Env = append(process.Env, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1") // all of it is in the scratch folder's
	}
	stdout, _, err := process.Run(ctx)
	if err == nil {
		return parsePorcelain(stdout, "", chunk)
	}
	var failed *gitexec.Error
	if ctx.Err() != nil || !errors.As(err, &failed) {
		return nil, err
	}
	said := remoteSaid(failed.Stderr)
	switch {
	case p.atomic && strings.Contains(failed.Stderr, "does not support --atomic"):
		p.atomic = false
		return p.push(ctx, chunk)
	case saysAny(failed.Stderr, ofHashes):
	case isUnsent(failed.Stderr):
		// The remote reports a bad pack, but the cause is in this repository.
		if reason := unreadable(failed.Stderr); reason != "" {
			return allOf(chunk, answer{unsent, reason}), nil
		}
	case failed.Status == 1: // git refused or could not move some refs, and its output has the result of each
		if answers, unclear := parsePorcelain(stdout, said, chunk); unclear == nil {
			return answers, nil
		}
		if strings.Contains(string(stdout), "[remote failure]") {
			return nil, fmt.Errorf("%w: %w", ErrRemote, err)
		}
	case saysAny(failed.Stderr, refusedAll):
		return allOf(chunk, answer{declined, cmp.Or(said, withoutSecrets(withoutProgress(failed.Stderr)))}), nil
	}
	return nil, p.t.classify(ctx, err)
}

// refusedAll holds parts of messages that end a push without a result for any ref: a message of a
// reference-transaction hook, and messages of a proxy that refuses the size.
var refusedAll = []string{"ref updates aborted by hook", "HTTP 413", "returned error: 413"}

// args returns the arguments of git push for a chunk. With them, git makes a move only if the ref at the remote has the
// right value. For Create, the ref must be missing. For Delete, it must have the value Old. For FastForward, it must be
// missing or have an ancestor of New.
func (p *pusher) args(chunk []Move) []string {
	args := []string{"push", "--porcelain", p.t.progress(), "--no-verify", "--no-signed", "--no-follow-tags", "--recurse-submodules=no"}
	if p.atomic {
		args = append(args, "--atomic")
	}
	specs := make([]string, len(chunk))
	for i, move := range chunk {
		name := string(move.Name)
		switch move.How {
		case FastForward:
			specs[i] = move.New.String() + ":" + name
		case Create: // the lease without a value requires that the ref does not exist
			args = append(args, "--force-with-lease="+name+":")
			specs[i] = move.New.String() + ":" + name
		case Delete:
			args = append(args, "--force-with-lease="+name+":"+move.Old.String())
			specs[i] = ":" + name
		}
	}
	return append(append(args, "--", p.remote), specs...)
}

// settings returns the configuration for git push, as "name=value" settings. They override settings of the user that
// would change the push or its output.
func (p *pusher) settings() []string {
	settings := []string{"push.pushOption=", "color.push=false", "color.transport=false", "advice.pushUpdateRejected=false"}
	if p.t.isConfigured(p.remote) {
		settings = append(settings, "remote."+p.remote+".mirror=false",
			// If the user's fetch refspec covers refs/smithers, git push would also move those refs in this repository.
			"remote."+p.remote+".fetch=^refs/smithers/*")
	}
	return settings
}

// parsePorcelain returns the answer for each ref of chunk. out is the output of git push --porcelain. said is the
// remote's message: parsePorcelain adds it to the reason of each declined or raced ref. If out has no result for a
// ref, the error wraps ErrRemote.
func parsePorcelain(out []byte, said string, chunk []Move) (map[refs.Name]answer, error) {
	answers := make(map[refs.Name]answer, len(chunk))
	for line := range strings.Lines(string(out)) {
		flag, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		spec, summary, ok := strings.Cut(rest, "\t")
		_, name, isSpec := strings.Cut(spec, ":")
		if !ok || !isSpec || len(flag) != 1 {
			continue
		}
		a := judge(flag, summary)
		if said != "" && (a.verdict == declined || a.verdict == raced) {
			a.reason = strings.TrimPrefix(a.reason+"\n"+said, "\n")
		}
		if a.verdict > answers[refs.Name(name)].verdict {
			answers[refs.Name(name)] = a
		}
	}
	for _, move := range chunk {
		if answers[move.Name].verdict == unknown {
			return nil, fmt.Errorf("%w: git push gave no result for %s", ErrRemote, move.Name)
		}
	}
	return answers, nil
}

// ofOthers holds git's reasons for a ref that did not move because of other refs in its chunk. ofRaces holds git's
// reasons for a ref that another process moved or locked during the push. The cause of a reason in ofRaces may also be
// permanent, such as a lock that a crash left behind, or a ref whose name is a folder of another ref.
var (
	ofOthers = []string{"atomic push failed", "atomic push failure"}
	ofRaces  = []string{"failed to update ref", "atomic transaction failed", "failed to lock", "transaction failed to start"}
)

// judge returns the answer in one line of git push --porcelain. flag is the first field of the line, and summary is the
// last field. If the flag is "!", the ref was rejected, and the verdict follows from the reason in summary: heldUp,
// raced, stale or declined. If the line has no result for the ref, the answer is zero.
func judge(flag, summary string) answer {
	switch flag {
	case "=":
		return answer{verdict: current}
	case " ", "*", "-": // fast-forwarded, created, deleted
		return answer{verdict: done}
	case "!": // rejected: the summary has the reason, which is examined below
	default: // the flag "+" means a forced update, which args never requests
		return answer{}
	}
	what, reason, _ := strings.Cut(summary, " (")
	reason = strings.TrimSuffix(reason, ")")
	switch {
	case what == "[remote failure]":
		return answer{}
	case slices.Contains(ofOthers, reason):
		return answer{verdict: heldUp, reason: reason}
	case slices.Contains(ofRaces, reason):
		return answer{verdict: raced, reason: reason}
	case what == "[rejected]":
		return answer{verdict: stale, reason: reason}
	default:
		return answer{verdict: declined, reason: cmp.Or(reason, what)}
	}
}

// remoteSaid returns the messages of the remote in stderr, each on its own line. It leaves out lines of progress and
// empty messages, and cuts the result after maxSaid bytes at the latest, between two characters.
func remoteSaid(stderr string) string {
	var lines []string
	for line := range strings.Lines(withoutProgress(stderr)) {
		if words, ok := strings.CutPrefix(line, "remote: "); ok {
			if words = strings.TrimSpace(words); words != "" {
				lines = append(lines, words)
			}
		}
	}
	said := strings.Join(lines, "\n")
	return strings.ToValidUTF8(said[:min(len(said), maxSaid)], "")
}
