
unset SLURM_NTASKS SLURM_NPROCS SLURM_TASKS_PER_NODE SLURM_NTASKS_PER_NODE SLURM_NNODES SLURM_NODELIST
unset SLURM_JOB_NUM_NODES SLURM_JOB_NODELIST SLURM_JOB_CPUS_PER_NODE

# A plan that takes nodes away names its script in the comment of the job and
# sends SIGUSR1. SIGTERM is for the tasks; the script waits for them.
resize=
trap 'resize=1' USR1
trap : TERM

