// Package grouped divides values into groups.
package grouped

// By groups values by key. Keys and the values of a group are in order of
// appearance.
func By[K comparable, V any](values []V, key func(V) K) (keys []K, groups map[K][]V) {
	groups = map[K][]V{}
	for _, v := range values {
		k := key(v)
		if groups[k] == nil {
			keys = append(keys, k)
		}
		groups[k] = append(groups[k], v)
	}
	return keys, groups
}
