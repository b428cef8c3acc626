// Package export writes a plan as files for an existing scheduler. Each target has a file
// in this package, which writes a plan exactly or returns a [Refusal]; it never
// approximates. Jobs that get nothing have no file, but the submit script names them. All
// targets pass the plan to the training program in KNEE_JOB and the environment variables of
// [knee/profile/launch.Contract].
package export
