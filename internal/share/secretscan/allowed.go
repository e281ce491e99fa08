package secretscan

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

const allowedFile = "allowed" // the InPlace name of the file

// Allowance is a finding that may leave the repository for good.
type Allowance struct {
	Digest string `json:"digest"`
	Reason string `json:"reason"`
	AtMs   int64  `json:"atMs"` // when it was allowed, in milliseconds since 1970
}

// CheckDigests returns the error usage if a text is not the digest of a finding.
func CheckDigests(digests ...string) error {
	form := regexp.MustCompile(`^[0-9a-f]{16}$`)
	for _, d := range digests {
		if !form.MatchString(d) {
			return fault.New(fault.Usage, "%q is not the digest of a finding", d).
				Hint("give the 16 digits that `git smithers scan` prints, never the secret itself")
		}
	}
	return nil
}

// Allow lets findings with the given digests leave the repository from now on. reason is kept, for people. Code: usage if a
// digest or the reason is missing or invalid.
func Allow(s *timeline.Store, reason string, digests ...string) error {
	if err := CheckDigests(digests...); err != nil {
		return err
	}
	if strings.TrimSpace(reason) == "" {
		return fault.New(fault.Usage, "a finding is allowed for good only with a reason").Hint("add --reason TEXT")
	}
	list, err := Allowances(s)
	if err != nil {
		return err
	}
	for _, d := range digests {
		list = slices.DeleteFunc(list, func(a Allowance) bool { return a.Digest == d })
		list = append(list, Allowance{d, reason, s.Now().UnixMilli()})
	}
	data, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return timeline.Explain(err)
	}
	return timeline.Explain(fsx.Replace(s.InPlace(allowedFile), append(data, '\n'), 0o600))
}

// Allowances returns the findings that may leave the repository, in the order in which they were allowed.
func Allowances(s *timeline.Store) ([]Allowance, error) {
	data, err := os.ReadFile(s.InPlace(allowedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var list []Allowance
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	if err != nil {
		return nil, timeline.Explain(fmt.Errorf("the list of allowed findings cannot be read: %w", err))
	}
	return list, nil
}

// readAllowed returns the reasons of the allowed findings by digest.
func readAllowed(s *timeline.Store) (map[string]string, error) {
	list, err := Allowances(s)
	reasons := make(map[string]string, len(list))
	for _, a := range list {
		reasons[a.Digest] = a.Reason
	}
	return reasons, err
}
