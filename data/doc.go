// Package data holds the types of knee and their files: configurations,
// measurements, training curves, studies, clusters, jobs and plans.
//
// Every reader checks what it reads. An error gives file, line and column, what
// was found and what was wanted; of a CSV with wrong rows, the first five. Every
// writer produces what the matching reader accepts.
//
// Units are fixed everywhere: seconds, bytes, samples, US dollars.
package data
