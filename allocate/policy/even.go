package policy

import "knee/allocate/solve"

// Even is [solve.Even]: every job the same number of GPUs.
type Even = solve.Even
