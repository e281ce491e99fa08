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

// Address names a frame of a run. If Frame is snapshot.NoFrame, the address is the run's id alone and means the
// state at the run's tip.
type Address struct {
	Run   string
	Frame int64
}

// String returns "run:frame", or "run" if the address is a run's id alone.
func (a Address) String() string {
	if a.Frame == snapshot.NoFrame {
		return a.Run
	}
	return a.Run + ":" + strconv.FormatInt(a.Frame, 10)
}

// Loaded is an entry and its address.
type Loaded struct {
	Address Address         // the run's whole id; for an entry after the newest frame, the number of the newest frame
	Entry   *snapshot.Entry // for frame 0 of a fork that changed nothing, the parent run's entry
}

// Load resolves an address and reads its entry. The address has one of three forms: "run" means the run's tip;
// "run:frame" means the frame; "run:engine/number" means the newest frame of the run's timeline that has the
// number in the engine from which the run was imported (see PeerFrame). run is the run's id or a unique prefix
// of the id. Codes: run_not_found, run_ambiguous, run_pruned, frame_not_found, invalid_address, invalid_run_id.
func (s *Store) Load(ctx context.Context, address string) (*Loaded, error) {
	return s.LoadFor(ctx, address, ToRead)
}

// LoadFor resolves an address and reads its entry, as Load does. If to is ToChange, the address must have the
// run's whole id.
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

// LoadFrame reads the frame at an address, by the frame's ref. tip is the run's tip. If the ref is missing or
// broken, LoadFrame finds the frame through the index or the chain (see findFrame), and repairs a broken ref. A
// failed repair is a warning. Code: frame_not_found.
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

// AsFrame returns entry, the value of the frame ref of at, as the run of at shows the frame. tip is the run's
// tip. If the frame belongs to the extension of a fork, the result is a view (see snapshot.AsFrame). Frame 0 of
// a fork stays the parent run's entry.
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

// readTip returns the entry at tip and the run's row, and repairs the newest frame's ref (see RepairNewest).
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

// named is an address as a user writes the address. If named has an engine, Frame is the engine's number of the
// frame.
type named struct {
	Address

	engine string // "" if Frame is git-smithers' own number
}

// resolve returns the run's whole id, the frame and the run's tip for an address. A run id may contain colons,
// so resolve tries the whole address as a run id before it splits the address at the last colon. It tries exact
// ids, including the ids of pruned runs, before prefixes, because finding a prefix reads the tips of all runs.
// Codes: those of Load.
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

// splitAddress splits an address of the form run:frame or run:engine/number at its last colon. hasFrame is false
// if the address has no colon, or with an error. Code: invalid_address if the part before or after the colon is
// invalid.
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
		Hint("type <run>, <run>:<frame> such as triage-1:7, or <run>:smithers/<number> such as triage-1:smithers/7 for Smithers' frame number")
}

// parseFrame returns the frame number in s. It returns false if s has other characters than decimal digits, or a
// superfluous zero.
func parseFrame(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n >= 0 && strconv.FormatInt(n, 10) == s
}
