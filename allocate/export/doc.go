// Package export turns a plan into files that an existing scheduler accepts
// as they are: one file per target beside this one.
//
// A target writes what it can express and refuses the rest with the reason:
// it never approximates a plan silently. Paused jobs get no file of their
// own, but the submit script names them. All targets tell the training
// program its part of the plan in the same environment variables:
//
//	KNEE_JOB          name of the job
//	KNEE_MODE         allreduce, ps-sync or ps-async
//	KNEE_WORKERS      workers of the job
//	KNEE_PS           parameter servers of the job
//	KNEE_LOCAL_BATCH  samples per worker and micro-step, 0 if the plan has none
//	KNEE_ACCUM_STEPS  extra accumulation micro-steps
package export
