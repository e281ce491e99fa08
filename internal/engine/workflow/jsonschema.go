package workflow

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// SchemaAddress is the address of the JSON Schema of workflow files, for editors.
const SchemaAddress = "https://raw.githubusercontent.com/git-smithers/git-smithers/main/docs/workflow.schema.json"

// shapes has the JSON Schemas of the values of keys that are not mappings with keys of their own, as an object.
//
//go:embed shapes.json
var shapes string

// JSONSchema returns a JSON Schema of workflow files, draft-07, which editors read, on many lines. It accepts every valid file. It cannot say what depends on
// several places of a file, such as needs, and on the languages of conditions and placeholders: Parse checks them.
func JSONSchema() ([]byte, error) {
	definitions := strings.TrimSuffix(shapes, "\n}\n")
	define := func(name, schema string) { definitions += fmt.Sprintf(",%q:%s", name, schema) }
	define("task", object(taskKeys, `,"required":["id"],`+taskRules()))
	define("loop", object(loopKeys, `,"required":["loop","until","max","tasks"]`))
	define("scorer", object(scorerKeys, `,"required":["name","run"],"not":{"required":["rate","gate"]}`))
	define("defaults", object(slices.DeleteFunc(slices.Clone(taskKeys), func(k key) bool { return !slices.Contains(defaultKeys, k.name) }), ""))
	for _, m := range mappings {
		define(m.name, `{"anyOf":[`+m.short+","+object(m.keys, m.rules)+"]}")
	}
	head := fmt.Sprintf(`{"$schema":"http://json-schema.org/draft-07/schema#","$id":%q,"title":"A workflow file of git-smithers",`, SchemaAddress)
	rules := `,"required":["name","tasks"],"patternProperties":{"^x-":{}},"definitions":` + definitions + "}"
	var out bytes.Buffer
	err := json.Indent(&out, []byte(head+object(workflowKeys, rules)[1:]+"\n"), "", "  ")
	return out.Bytes(), err
}

// object returns the JSON Schema of a mapping with the given keys. rules are more members of the JSON Schema.
func object(t keyTable, rules string) string {
	members := make([]string, len(t))
	for i, k := range t {
		value := k.value
		if !strings.HasPrefix(value, "{") {
			value = fmt.Sprintf(`{"$ref":"#/definitions/%s"}`, value)
		}
		members[i] = fmt.Sprintf(`%q:{"description":%q,%s`, k.name, k.about, value[1:])
	}
	return `{"type":"object","additionalProperties":false,"properties":{` + strings.Join(members, ",") + "}" + rules + "}"
}

// taskRules returns what holds for the keys of a task together.
func taskRules() string {
	kinds := strings.Join(taskKinds, `"]},{"required":["`)
	needs := strings.NewReplacer(`"timeout":["run"]`, `"timeout":{"anyOf":[{"required":["run"]},{"required":["workflow"]}]}`, `"fail-fast":["run"]`, `"fail-fast":["run","matrix"]`).
		Replace(strings.Join(commandKeys, `":["run"],"`) + `":["run"]`)
	return `"oneOf":[{"required":["` + kinds + `"]}],"dependencies":{"with":["workflow"],"` + needs + "}"
}
