package transport_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/internal/refs/transport"
)

func TestAdviceFitsTheReason(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"fatal: detected dubious ownership in repository at '/srv/r.git'":               "safe.directory",
		"error: RPC failed; HTTP 413 curl 22 The requested URL returned error: 413":     "limits sizes",
		"remote: error: GH001: Large files detected.":                                   "limits sizes",
		"fatal: pack exceeds maximum allowed size (2.00 GiB)":                           "limits sizes",
		"! [remote rejected] a -> b (deny updating a hidden ref)":                       "rules of the host",
		"remote: error: GH013: Repository rule violations found":                        "rules of the host",
		"! [remote rejected] a -> b (pre-receive hook declined)":                        "a hook of the remote",
		"fatal: unable to access 'https://h/r/': The requested URL returned error: 403": "credentials",
		"git@h: Permission denied (publickey).":                                         "credentials",
		"remote: Permission to a/b.git denied to c.":                                    "credentials",
		"fatal: unable to access 'https://h/r/': The requested URL returned error: 429": "its words stand above",
		"fatal: unable to access 'https://h/r/': Could not resolve host: h":             "",
		"fatal: the remote end hung up unexpectedly":                                    "",
	} {
		if got := transport.AdviceOn(said); want == "" {
			assert.Empty(t, got, said)
		} else {
			assert.Contains(t, got, want, said)
		}
	}
}
