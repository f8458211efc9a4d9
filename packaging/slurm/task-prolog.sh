#!/bin/sh
# Tacho's TaskProlog for Slurm: what a task starts records its own start and end, where its agent has made a place for it.
# Prints lines for Slurm, which sets the variables for the task. Whatever goes wrong, the task runs as it would without.
# The line above and its name, tacho-task-prolog.sh, say that it is no process of the job. It starts nothing but a wait.

library=/opt/tacho/native/build/libtacho-record.so
jobs=${TACHO_SERVICE_JOBS:-/run/tacho/jobs}
# there tacho mark, fom, annotate and env find the recording
[ "$jobs" = /run/tacho/jobs ] || echo "export TACHO_SERVICE_JOBS=$jobs"
preload=${LD_PRELOAD-}
unset LD_PRELOAD
name=${SLURM_JOB_ID:-none}
case ${SLURM_RESTART_COUNT:-0} in
0 | *[!0-9]*) ;;
*) name=${name}r$SLURM_RESTART_COUNT ;;
esac
# whose task this is
while read -r key uid rest; do
    [ "$key" != Uid: ] || break
done </proc/self/status
users=${jobs%/*}/users
own=$users/$uid/jobs
place=$own/job-$name.records
[ -r "$library" ] && [ -d "$users" ] || exit 0
# the agent has heard of the job some milliseconds ago
for wait in 0.01 0.04 0.1; do
    [ -r "$place" ] || TACHO_OWN=1 sleep $wait 2>/dev/null
done
# a task in a later component of a heterogeneous job has the id of the first, which is on other nodes
group=0
while [ ! -r "$place" ]; do
    eval "id=\${SLURM_JOB_ID_HET_GROUP_$group:-}"
    case $id in
    '' | *[!0-9]*) exit 0 ;;
    esac
    place=$own/job-$id.records
    group=$((group + 1))
done
IFS= read -r events <"$place" || exit 0
[ -w "$events" ] || exit 0
# a user may record the job, too
case ":${TACHO_RECORD-}:" in
*":$events:"*) ;;
*) echo "export TACHO_RECORD=${TACHO_RECORD:+$TACHO_RECORD:}$events" ;;
esac
case $preload in
*/libtacho-record.so*) ;;
*) echo "export LD_PRELOAD=${preload:+$preload:}$library" ;;
esac
echo "export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0"
exit 0
