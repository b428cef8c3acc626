package policy

import "knee/allocate"

// Even is [allocate.Even]: every job the same number of GPUs.
type Even = allocate.Even
