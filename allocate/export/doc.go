// Package export writes a plan as files for an existing scheduler. Each target has
// a file in this package.
//
// A target writes a plan exactly or returns a [Refusal] with the reason; it never
// approximates. Jobs that get nothing have no file, but the submit script names them. All
// targets pass the plan to the training program in the same environment variables:
//
//	KNEE_JOB          name of the job
//	KNEE_MODE         allreduce, ps-sync or ps-async
//	KNEE_WORKERS      workers of the job
//	KNEE_PS           parameter servers of the job
//	KNEE_LOCAL_BATCH  samples per worker and micro-step, 0 if the plan has none
//	KNEE_ACCUM_STEPS  extra accumulation micro-steps
package export
