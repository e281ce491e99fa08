package workflow

import "go.yaml.in/yaml/v4"

// merge replaces the merge key (<<) of n, and those in n, by the members of the mappings under the key. A member of the mapping itself wins over a merged one, and
// one of an earlier mapping over one of a later. Each merged member counts as a node of the file. around has the nodes around n: none of them can be merged.
func (r *reader) merge(n *yaml.Node, around map[*yaml.Node]bool) {
	around[n] = true
	for _, inner := range n.Content {
		r.merge(inner, around)
	}
	if n.Kind == yaml.MappingNode {
		r.part(func() { r.mergeInto(n, around) })
	}
	delete(around, n)
}

// mergeInto does the work of merge for the keys of the mapping n itself. After a flaw, n has no merge key, and a missing key is no further flaw.
func (r *reader) mergeInto(n *yaml.Node, around map[*yaml.Node]bool) {
	var own, under []*yaml.Node
	has := make(map[string]bool)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch {
		case key.Kind != yaml.ScalarNode || key.ShortTag() != "!!merge":
			own, has[key.Value] = append(own, key, value), true
		case under != nil:
			r.fail(key, "give the one key a list: <<: [*a, *b]", "a mapping has the key << twice")
		case value.Kind == yaml.SequenceNode:
			under = append([]*yaml.Node{}, value.Content...)
		default:
			under = []*yaml.Node{value}
		}
	}
	if under == nil {
		return
	}
	for _, value := range under {
		from := r.follow(value)
		switch {
		case from == nil:
		case from.Kind != yaml.MappingNode:
			r.fail(value, "name a mapping: <<: *name, with &name at the mapping", "<< must be a mapping or a list of mappings, not %s", kindName(from))
		case around[from]:
			r.fail(value, "", "<< merges a mapping into itself")
		default:
			for i := 0; i+1 < len(from.Content); i += 2 {
				if key := r.follow(from.Content[i]); key != nil && !has[key.Value] {
					own, has[key.Value] = append(own, key, from.Content[i+1]), true
				}
			}
		}
	}
	n.Content, r.strange[n] = own, r.strange[n] || r.err != nil
}
