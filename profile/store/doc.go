// Package store keeps the record of a study: a journal on this disk, or a
// database that several profilers share.
//
//	profile ─▶ Storage ─┬─ Journal    one file, checksums, one writer
//	                    └─ Database   sqlite, PostgreSQL, MySQL; leases; an outbox for outages
//
// A new kind of database is a backend: one file and one entry in their registry.
package store
