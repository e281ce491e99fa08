package timeline

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Address names a frame. If Frame is snapshot.NoFrame, the address is a bare run and means the state at its tip.
type Address struct {
	Run   string
	Frame int64
}

// String returns "run" or "run:frame".
func (a Address) String() string {
	if a.Frame == snapshot.NoFrame {
		return a.Run
	}
	return a.Run + ":" + strconv.FormatInt(a.Frame, 10)
}

// Loaded is an entry and its address.
type Loaded struct {
	Address Address         // the run's full id; the number of the entry's frame
	Entry   *snapshot.Entry // the parent run's entry, if a fork has its parent's frame as frame 0
}

// Load resolves an address and reads its entry. The address is "run", which means the run's tip, "run:frame", or
// "run:engine/number": the newest frame of the run's timeline that has the number in the engine from which the run was
// imported (see PeerFrame). The run is given by its id or a unique prefix of it. The id of a pruned run is run_pruned.
func (s *Store) Load(ctx context.Context, address string) (*Loaded, error) {
	return s.LoadFor(ctx, address, ToRead)
}

// LoadFor is Load for a purpose: a caller that changes the run must give the run's whole id.
func (s *Store) LoadFor(ctx context.Context, address string, to Purpose) (*Loaded, error) {
	at, tip, err := s.resolve(ctx, address, to)
	if err != nil {
		return nil, err
	}
	if at.Frame != snapshot.NoFrame {
		return s.LoadFrame(ctx, at, tip)
	}
	entry, row, err := readTip(ctx, s, tip)
	if err != nil {
		return nil, err
	}
	return &Loaded{Address{at.Run, row.Frame}, entry}, nil
}

// LoadFrame reads a frame by its ref. If the ref is missing or broken, LoadFrame finds the frame through the chain or
// the index (see findFrame), and repairs a broken ref. A failed repair is a warning.
func (s *Store) LoadFrame(ctx context.Context, at Address, tip objstore.ID) (*Loaded, error) {
	name, err := refs.Frame(at.Run, at.Frame)
	if err != nil {
		return nil, Explain(err)
	}
	id, refErr := s.refs.Resolve(ctx, name)
	if refErr == nil {
		entry, err := snapshot.ReadEntry(s.objects, id)
		if err != nil {
			return nil, Explain(err)
		}
		entry, err = AsFrame(s, at, tip, entry)
		return &Loaded{at, entry}, err
	}
	if !errors.Is(refErr, refs.ErrNotFound) && !errors.Is(refErr, refs.ErrBroken) {
		return nil, Explain(refErr)
	}
	newest, row, err := readTip(ctx, s, tip)
	if err != nil {
		return nil, err
	}
	entry, err := findFrame(ctx, s, row, newest, at.Frame)
	if err != nil {
		return nil, err
	}
	if errors.Is(refErr, refs.ErrBroken) {
		if err := s.FrameRefs().restore(ctx, at.Run, name, entry.ID, refErr); err != nil {
			s.warn(fmt.Errorf("repair %s: %w", name, err))
		}
	}
	return &Loaded{at, entry}, nil
}

// AsFrame returns the entry of a frame ref as the run at the address has it: if the run is a fork and the frame belongs
// to its extension, the entry is a view (see snapshot.AsFrame). Frame 0 of a fork stays as the parent run has it.
func AsFrame(s *Store, at Address, tip objstore.ID, entry *snapshot.Entry) (*snapshot.Entry, error) {
	if at.Frame == 0 || entry.Run == at.Run && entry.Frame == at.Frame {
		return entry, nil
	}
	newest, err := snapshot.ReadEntry(s.objects, tip)
	if err == nil {
		entry, err = snapshot.AsFrame(s.objects, newest, entry, at.Frame)
	}
	return entry, Explain(err)
}

// readTip reads a tip and its row, and repairs the newest frame's ref.
func readTip(ctx context.Context, s *Store, tip objstore.ID) (*snapshot.Entry, snapshot.Run, error) {
	entry, err := snapshot.ReadEntry(s.objects, tip)
	if err != nil {
		return nil, snapshot.Run{}, Explain(err)
	}
	row, err := entry.RunRow()
	if err != nil {
		return nil, snapshot.Run{}, Explain(err)
	}
	return entry, row, s.FrameRefs().RepairNewest(ctx, row, entry)
}

// named is an address as it is written. If the address has an engine, Frame is the engine's number of the frame.
type named struct {
	Address

	engine string // "" if Frame is git-smithers' own number
}

// resolve finds the run and frame of an address. It takes the whole address for a run id first, since a run id may
// contain colons, and then splits it at its last colon. Exact ids, also those of pruned runs, are tried before
// prefixes, because finding a prefix reads the tips of all runs.
func (s *Store) resolve(ctx context.Context, address string, to Purpose) (Address, objstore.ID, error) {
	if address == "" {
		return Address{}, objstore.ID{}, fault.New(fault.InvalidRunID, "the run id is empty")
	}
	candidates := []named{{Address: Address{address, snapshot.NoFrame}}}
	split, hasFrame, splitErr := splitAddress(address)
	if hasFrame {
		candidates = append(candidates, split)
	}
	runs := runFinder{s.refs}
	for _, find := range runs.ways(to) {
		for _, candidate := range candidates {
			run, tip, err := find(ctx, candidate.Run)
			if err == nil {
				candidate.Run = run
				at, err := ownNumber(ctx, s, candidate, tip)
				return at, tip, err
			}
			if fault.CodeOf(err) != fault.RunNotFound {
				return Address{}, objstore.ID{}, err
			}
		}
	}
	if splitErr != nil {
		return Address{}, objstore.ID{}, splitErr
	}
	return Address{}, objstore.ID{}, runs.unknown(ctx, candidates[len(candidates)-1].Run, to)
}

// splitAddress splits run:frame, or run:engine/number. hasFrame is false if the address has no colon. The error
// explains an invalid part before or after the colon.
func splitAddress(address string) (at named, hasFrame bool, err error) {
	colon := strings.LastIndexByte(address, ':')
	if colon < 0 {
		return named{}, false, nil
	}
	engine, number, hasEngine := strings.Cut(address[colon+1:], "/")
	if !hasEngine {
		engine, number = "", engine
	}
	frame, ok := parseFrame(number)
	why := ""
	switch {
	case colon == 0:
		why = "the run before the colon is missing"
	case hasEngine && engine == "":
		why = "the engine before the slash is missing"
	case !ok:
		why = fmt.Sprintf("%q is not the number of a frame", number)
	default:
		return named{Address{address[:colon], frame}, engine}, true, nil
	}
	return named{}, false, fault.New(fault.InvalidAddress, "%q is not an address: %s", address, why).
		Hint("an address is <run>, <run>:<frame>, such as triage-1:7, or by Smithers' number <run>:smithers/<frame>, such as triage-1:smithers/7")
}

// parseFrame reads a frame number: decimal digits without a superfluous zero.
func parseFrame(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n >= 0 && strconv.FormatInt(n, 10) == s
}
