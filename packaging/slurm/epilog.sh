#!/bin/sh
# Epilog for Slurm: tells Tacho's agent on this node that a job has ended. Writes one small file and waits for nothing.
# Whatever goes wrong here is no failure of the node: it always exits 0.

PATH=/usr/sbin:/usr/bin:/sbin:/bin
unset LD_PRELOAD
jobs=${TACHO_SERVICE_JOBS:-/run/tacho/jobs}

case ${SLURM_JOB_ID:-} in
'' | *[!0-9]*) exit 0 ;;
esac
[ -d "$jobs" ] || exit 0

# Slurm tells the epilog of a job that is requeued the number of the next run: the newest job file says which run it was
name=$SLURM_JOB_ID
unset SLURM_RESTART_COUNT
for file in "$jobs/${SLURM_JOB_ID}r"*; do
    restart=${file##*r}
    case $restart in
    '' | *[!0-9]*) continue ;;
    esac
    [ "$restart" -gt "${SLURM_RESTART_COUNT:-0}" ] && SLURM_RESTART_COUNT=$restart name=${SLURM_JOB_ID}r$restart
done
umask 077
new=$jobs/.$name.end.$$
{
    for key in SLURM_JOB_ID SLURM_RESTART_COUNT SLURM_JOB_EXIT_CODE SLURM_JOB_EXIT_CODE2; do
        eval "value=\${$key:-}"
        case $value in
        '' | *[!0-9:]*) ;;
        *) printf '%s=%s\n' "$key" "$value" ;;
        esac
    done
    printf 'END=%s\n' "$(date +%s.%N)"
} 2>/dev/null >"$new" && mv -f "$new" "$jobs/$name.end" 2>/dev/null || rm -f "$new" 2>/dev/null
exit 0
