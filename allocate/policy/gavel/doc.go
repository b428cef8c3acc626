// Package gavel solves the linear programs by which Gavel divides time on GPU
// types among jobs (Narayanan et al., OSDI 2020, section 4): least speed
// relative to a need (max-min), makespan and finish-time fairness.
//
// The programs have one row per GPU type that couples the jobs, and rows of
// each job alone. They are solved by column generation (Dantzig and Wolfe,
// 1960) over those few coupling rows: a column is an allocation of all jobs,
// and the best one at given prices of GPU time is found in closed form, job by
// job. Time grows linearly with the jobs, and prices bound the optimum.
package gavel
