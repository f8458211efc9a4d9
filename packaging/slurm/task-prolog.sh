#!/bin/sh
# TaskProlog for Slurm: what a task starts records its own start and end, where Tacho's agent has made a place for it.
# Prints lines for Slurm, which sets the variables for the task. Whatever goes wrong, the task runs as it would without.

library=/opt/tacho/native/build/libtacho-record.so
jobs=${TACHO_SERVICE_JOBS:-/run/tacho/jobs}
# there tacho mark, fom, annotate and env find the recording
[ "$jobs" = /run/tacho/jobs ] || echo "export TACHO_SERVICE_JOBS=$jobs"
name=${SLURM_JOB_ID:-none}
case ${SLURM_RESTART_COUNT:-0} in
0 | *[!0-9]*) ;;
*) name=${name}r$SLURM_RESTART_COUNT ;;
esac
place=$jobs/../records/job-$name
[ -r "$library" ] && [ -d "$jobs/../records" ] || exit 0
# the agent has heard of the job some milliseconds ago
for wait in 0.01 0.04 0.1; do
    [ -r "$place" ] || sleep $wait 2>/dev/null
done
# a task in a later component of a heterogeneous job has the id of the first, which is on other nodes
for id in $(env 2>/dev/null | sed -n 's/^SLURM_JOB_ID_HET_GROUP_[0-9]*=\([0-9]*\)$/\1/p' 2>/dev/null); do
    [ -r "$place" ] || place=$jobs/../records/job-$id
done
[ -r "$place" ] && IFS= read -r events <"$place" || exit 0
[ -w "$events" ] || exit 0
# a user may record the job, too
case ":${TACHO_RECORD-}:" in
*":$events:"*) ;;
*) echo "export TACHO_RECORD=${TACHO_RECORD:+$TACHO_RECORD:}$events" ;;
esac
case ${LD_PRELOAD-} in
*/libtacho-record.so*) ;;
*) echo "export LD_PRELOAD=${LD_PRELOAD:+$LD_PRELOAD:}$library" ;;
esac
echo "export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0"
exit 0
