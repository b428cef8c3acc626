while :; do
  wait $step && code=0 || code=$?
  if [ -n "$resize" ]; then break; fi
  kill -0 $step 2>/dev/null || exit $code
done
scancel --signal=TERM "$SLURM_JOB_ID" || true
for _ in $(seq 60); do
  kill -0 $step 2>/dev/null || break
  sleep 1
done
kill $step 2>/dev/null || true
wait $step || true
for _ in $(seq 300); do
  if [ "$(squeue --noheader --jobs="$SLURM_JOB_ID" --format=%D)" != "$had" ]; then
    exec bash "$(squeue --noheader --jobs="$SLURM_JOB_ID" --format=%k)"
  fi
  sleep 1
done
echo "the nodes were not taken away within 5 minutes" >&2
exit 1
