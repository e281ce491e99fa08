package refs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

const (
	prefix    = "refs/smithers/"
	tipFolder = "_tip"
	tipPrefix = prefix + tipFolder + "/"
	// gonePrefix is the folder of tombstones. heldPrefix is the folder of the tips of pruned runs whose objects are
	// not yet collected.
	goneFolder = "_gone"
	gonePrefix = prefix + goneFolder + "/"
	heldPrefix = prefix + "_held/"
	// remotePrefix is the folder of tracking refs. It has a folder for each remote. A remote's folder has the tips and,
	// in the folder goneFolder, the tombstones.
	remotePrefix = "refs/smithers-remote/"
	// hashPrefix is the start of the component of a run whose id is too long.
	hashPrefix = "_h-"
	// maxComponent is the maximum length of a component in bytes. It keeps "<component>.lock" well below the 255-byte
	// limit of file systems.
	maxComponent = 200
	lockSuffix   = ".lock"
)

// MaxFrame is the largest frame number. It is the largest integer that every JSON reader reads exactly.
const MaxFrame = 1 << 53

// NoFrame is the frame number that Split returns for the name of a tip.
const NoFrame int64 = -1

// Name is a full ref name under refs/smithers/ or refs/smithers-remote/.
type Name string

// Base is the name of the ref for the newest commit that this program has made only to store code. A run builds on that
// commit if the remote has none of the code. The ref belongs to no run.
const Base Name = prefix + "_base"

// Cache is the name of the ref for the outputs of tasks that other runs may use again. The ref belongs to no run.
const Cache Name = prefix + "_cache"

// Cron is the name of the ref for the schedules of this clone. The ref belongs to no run.
const Cron Name = prefix + "_cron"

// Vectors is the name of the ref for rows of another engine's vectors. The ref belongs to no run.
const Vectors Name = prefix + "_vectors"

// Tip returns the name of a run's tip ref. For an empty run id, the error wraps ErrMalformed.
func Tip(run string) (Name, error) {
	component, err := EscapeRun(run)
	if err != nil {
		return "", err
	}
	return Name(tipPrefix + component), nil
}

// Frame returns the name of a run's frame ref. The error wraps ErrMalformed if the run id is empty, or if
// frame is less than 0 or greater than MaxFrame.
func Frame(run string, frame int64) (Name, error) {
	component, err := EscapeRun(run)
	if err != nil {
		return "", err
	}
	if frame < 0 || frame > MaxFrame {
		return "", fmt.Errorf("%w: frame number %d", ErrMalformed, frame)
	}
	return Name(prefix + component + "/" + strconv.FormatInt(frame, 10)), nil
}

// Split returns the run's ref component and the frame number of a name that Tip or Frame returned. For a tip,
// frame is NoFrame. The error wraps ErrMalformed for every other name.
func (n Name) Split() (component string, frame int64, err error) {
	frame = NoFrame
	rest, isTip := strings.CutPrefix(string(n), tipPrefix)
	if isTip {
		component = rest
	} else {
		rest, found := strings.CutPrefix(string(n), prefix)
		number := ""
		if found {
			component, number, found = strings.Cut(rest, "/")
		}
		var ok bool
		if frame, ok = parseFrame(number); !found || !ok {
			return "", 0, fmt.Errorf("%w: %q", ErrMalformed, string(n))
		}
	}
	if _, _, err := UnescapeRun(component); err != nil {
		return "", 0, err
	}
	return component, frame, nil
}

// Tip returns the name of the tip of the run to which the tip or the frame ref n belongs. It returns false for every other name.
func (n Name) Tip() (Name, bool) {
	component, _, err := n.Split()
	return Name(tipPrefix + component), err == nil
}

// check returns nil if n is a name that this package gives to a ref. Otherwise the error wraps ErrMalformed.
func (n Name) check() error {
	if n == Base || n == Cache || n == Cron || n == Vectors || n.isShared() {
		return nil
	}
	_, _, err := n.Split()
	return err
}

// parseFrame returns the frame number in s. ok is false unless s is the number in decimal digits, from 0 to
// MaxFrame, without a sign or leading zeros.
func parseFrame(s string) (n int64, ok bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > MaxFrame || s != strconv.FormatInt(n, 10) {
		return 0, false
	}
	return n, true
}

// EscapeRun returns the ref component of a run id, which may be any non-empty byte string. The component has the
// bytes of the id, some of them replaced by "%" and two lower-case hex digits. These bytes are replaced:
//   - each byte outside [a-z0-9._-]
//   - a dot after a dot
//   - ".", "-" or "_" at the beginning
//   - the dot of "." or ".lock" at the end
//
// If the component would exceed 200 bytes, it is instead "_h-" and the SHA-256 of the id in lower-case hex. Different
// ids have different components, even on case-insensitive file systems. If the id is empty, the error wraps
// ErrMalformed.
func EscapeRun(run string) (string, error) {
	if run == "" {
		return "", fmt.Errorf("%w: empty run id", ErrMalformed)
	}
	lastDot := -1
	if strings.HasSuffix(run, ".") || strings.HasSuffix(run, lockSuffix) {
		lastDot = strings.LastIndexByte(run, '.')
	}
	var b strings.Builder
	for i := range len(run) {
		c := run[i]
		var plain bool
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			plain = true
		case c == '.':
			plain = i > 0 && run[i-1] != '.' && i != lastDot
		case c == '-', c == '_':
			plain = i > 0
		}
		if plain {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteString(hex.EncodeToString([]byte{c}))
		}
		if b.Len() > maxComponent {
			sum := sha256.Sum256([]byte(run))
			return hashPrefix + hex.EncodeToString(sum[:]), nil
		}
	}
	return b.String(), nil
}

// ShownRun returns the run id for which EscapeRun returns component, or the component itself if it is malformed or has only the hash of the id.
func ShownRun(component string) string {
	if id, ok, err := UnescapeRun(component); err == nil && ok {
		return id
	}
	return component
}

// UnescapeRun returns the run id for which EscapeRun returns component. If component has only the hash of the id, run
// is "" and ok is false. The id of such a run is only in the run's run.json. If EscapeRun cannot return component, the
// error wraps ErrMalformed.
func UnescapeRun(component string) (run string, ok bool, err error) {
	malformed := func() (string, bool, error) {
		return "", false, fmt.Errorf("%w: run %q", ErrMalformed, component)
	}
	if digits, hashed := strings.CutPrefix(component, hashPrefix); hashed {
		if len(digits) != 2*sha256.Size || strings.Trim(digits, "0123456789abcdef") != "" {
			return malformed()
		}
		return "", false, nil
	}
	var b strings.Builder
	for i := 0; i < len(component); i++ {
		if component[i] != '%' {
			b.WriteByte(component[i])
			continue
		}
		if len(component) < i+3 {
			return malformed()
		}
		decoded, err := hex.DecodeString(component[i+1 : i+3])
		if err != nil {
			return malformed()
		}
		b.Write(decoded)
		i += 2
	}
	run = b.String()
	// Only the canonical spelling of a run id is valid.
	if again, err := EscapeRun(run); err != nil || again != component {
		return malformed()
	}
	return run, true, nil
}
