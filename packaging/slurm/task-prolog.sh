#!/bin/sh
# TaskProlog for Slurm: what a task starts records its own start and end, where Tacho's agent has made a place for it.
# Prints lines for Slurm, which sets the variables for the task. Whatever goes wrong, the task runs as it would without.

jobs=${TACHO_SERVICE_JOBS:-/run/tacho/jobs}
name=${SLURM_JOB_ID:-none}
case ${SLURM_RESTART_COUNT:-0} in
0 | *[!0-9]*) ;;
*) name=${name}r$SLURM_RESTART_COUNT ;;
esac
records=$jobs/../records/$name
[ -w "$records/events" ] && [ -r "$records/library" ] || exit 0
IFS= read -r library <"$records/library" || exit 0
[ -r "$library" ] || exit 0
echo "export TACHO_RECORD=$records/events"
echo "export LD_PRELOAD=${LD_PRELOAD:+$LD_PRELOAD:}$library"
echo "export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0"
exit 0
