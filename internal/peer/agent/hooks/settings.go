package hooks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// hasHook reports whether an event has a command of ours for an agent.
func hasHook(settings *hujson.Value, agent, event string) bool {
	for i := range elements(settings, "/hooks/"+event) {
		entry := entryPointer(event, i)
		if isOurs(settings, entry) && strings.Contains(settings.Find(entry).String(), hookMark+agent+" ") {
			return true
		}
		for _, command := range ourCommands(settings, entry) {
			if strings.Contains(elements(settings, entry+"/hooks")[command].String(), hookMark+agent+" ") {
				return true
			}
		}
	}
	return false
}

// hasForeign reports whether the settings have commands of ours for another agent: some agents take the hooks of another over, with limits of
// time that they read in other units.
func hasForeign(settings *hujson.Value, agent string) bool {
	text := settings.String()
	return strings.Count(text, hookMark) > strings.Count(text, hookMark+agent+" ")
}

// allEvents returns the names of all events that have entries.
func allEvents(settings *hujson.Value) (events []string) {
	at := settings.Find("/hooks")
	if at == nil {
		return nil
	}
	object, ok := at.Value.(*hujson.Object)
	if !ok {
		return nil
	}
	for _, member := range object.Members {
		if name, ok := member.Name.Value.(hujson.Literal); ok {
			events = append(events, name.String())
		}
	}
	return events
}

// entryPointer returns the JSON pointer to the entry with the index in the list of an event.
func entryPointer(event string, index int) string { return fmt.Sprintf("/hooks/%s/%d", event, index) }

// elements returns the elements of the array at a JSON pointer, or nil if no array is there.
func elements(settings *hujson.Value, pointer string) []hujson.Value {
	at := settings.Find(pointer)
	if at == nil {
		return nil
	}
	array, ok := at.Value.(*hujson.Array)
	if !ok {
		return nil
	}
	return array.Elements
}

// ourCommands returns the indexes of the commands of ours in an entry.
func ourCommands(settings *hujson.Value, entry string) []int {
	var ours []int
	for i, command := range elements(settings, entry+"/hooks") {
		if strings.Contains(command.String(), hookMark) {
			ours = append(ours, i)
		}
	}
	return ours
}

// isOurs reports whether an entry is itself a command of ours, as in the settings of agents that have no lists of commands in their entries.
func isOurs(settings *hujson.Value, entry string) bool {
	return settings.Find(entry+"/hooks") == nil && strings.Contains(settings.Find(entry).String(), hookMark)
}

// addHook adds an entry of ours to the entries of an event.
func addHook(settings *hujson.Value, event string, entry any) error {
	for _, step := range []struct {
		pointer string
		value   any
	}{{"/hooks", struct{}{}}, {"/hooks/" + event, []any{}}} {
		if settings.Find(step.pointer) == nil {
			if err := patch(settings, "add", step.pointer, step.value); err != nil {
				return err
			}
		}
	}
	if _, ok := settings.Find("/hooks/" + event).Value.(*hujson.Array); !ok {
		return fmt.Errorf("hooks.%s is not a list", event)
	}
	return patch(settings, "add", "/hooks/"+event+"/-", entry)
}

// removeHooks removes the commands of ours, and reports whether there were any. Entries and lists that are empty then are removed,
// too. Other commands stay, also in an entry with one of ours.
func removeHooks(settings *hujson.Value, events []string) (removed bool, err error) {
	for _, event := range events {
		for i := range slices.Backward(elements(settings, "/hooks/"+event)) {
			entry := entryPointer(event, i)
			ours := ourCommands(settings, entry)
			if len(ours) == 0 && !isOurs(settings, entry) {
				continue
			}
			removed = true
			for _, command := range slices.Backward(ours) {
				if err := patch(settings, "remove", fmt.Sprintf("%s/hooks/%d", entry, command), nil); err != nil {
					return removed, err
				}
			}
			if len(elements(settings, entry+"/hooks")) > 0 {
				continue
			}
			if err := patch(settings, "remove", entry, nil); err != nil {
				return removed, err
			}
			if len(elements(settings, "/hooks/"+event)) == 0 {
				if err := patch(settings, "remove", "/hooks/"+event, nil); err != nil {
					return removed, err
				}
			}
		}
	}
	if !removed {
		return false, nil
	}
	if all, ok := settings.Find("/hooks").Value.(*hujson.Object); ok && len(all.Members) == 0 {
		return true, patch(settings, "remove", "/hooks", nil)
	}
	return true, nil
}

// indentLike returns the settings indented by two spaces, as the agents write them, if before is indented so or has no members.
// Otherwise it returns the settings unchanged.
func indentLike(before, settings []byte) []byte {
	indented := func(data []byte) []byte {
		var out bytes.Buffer
		if json.Indent(&out, bytes.TrimSpace(data), "", "  ") != nil {
			return nil // it has comments
		}
		return append(out.Bytes(), '\n')
	}
	if out := indented(settings); out != nil && (len(bytes.TrimSpace(before)) <= len("{}") || bytes.Equal(bytes.TrimSpace(indented(before)), bytes.TrimSpace(before))) {
		return out
	}
	return settings
}

// patch applies one operation of RFC 6902 to settings.
func patch(settings *hujson.Value, op, pointer string, value any) error {
	step := map[string]any{"op": op, "path": pointer}
	if op == "add" {
		step["value"] = value
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false) // people read the commands
	if err := enc.Encode([]any{step}); err != nil {
		return fmt.Errorf("%s %s: %w", op, pointer, err)
	}
	if err := settings.Patch(text.Bytes()); err != nil {
		return fmt.Errorf("%s %s: %w", op, pointer, err)
	}
	return nil
}
