// Package replay tries search methods on recorded tables: complete
// measurements of a search space, of which a method sees a row only when it
// asks for it. It answers how many evaluations, and how much money, a method
// needs, and whether its stopping rule knows when it is done.
package replay
