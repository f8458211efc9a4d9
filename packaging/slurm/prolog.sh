#!/bin/sh
# Prolog for Slurm: tells Tacho's agent on this node that a job begins. Writes one small file and waits for nothing.
# Whatever goes wrong here is no failure of the job: it always exits 0.

PATH=/usr/sbin:/usr/bin:/sbin:/bin
unset LD_PRELOAD
jobs=${TACHO_SERVICE_JOBS:-/run/tacho/jobs}
newline='
'

case ${SLURM_JOB_ID:-} in
'' | *[!0-9]*) exit 0 ;;
esac
name=$SLURM_JOB_ID
# a prolog has another name for it than the job itself
SLURM_RESTART_COUNT=${SLURM_JOB_RESTART_COUNT:-${SLURM_RESTART_COUNT:-}}
case ${SLURM_RESTART_COUNT:-0} in
0 | *[!0-9]*) ;;
*) name=${name}r$SLURM_RESTART_COUNT ;;
esac

[ -d "$jobs" ] || mkdir -p -m 700 "$jobs" 2>/dev/null || exit 0
umask 077

# Where the agent runs, processes of the job have a place to record themselves before the agent has begun with the job,
# which takes longer when many jobs begin together (packaging/slurm/task-prolog.sh finds it by the pointer).
make_place() {
    read -r agent <"$records/.agent" && kill -0 "$agent" && read -r random </proc/sys/kernel/random/uuid &&
        read -r secret </proc/sys/kernel/random/uuid || return
    # everybody can list that folder, and ask whose file it is who knows its name
    events=/dev/shm/tacho-0-$random/events-$secret
    mkdir -m 711 "${events%/*}" && : >"$events" && chown "$SLURM_JOB_UID" "$events" || return
    printf '%s\n' "$events" >"$records/.job-$name.$$" && mv -f "$records/.job-$name.$$" "$records/job-$name" || return
    # a copy for its user, where nobody else gets through (src/agent/service/user-folders.ts)
    users=$records/../users
    own=$users/$SLURM_JOB_UID
    [ -d "$users" ] || mkdir -m 711 "$users"
    if [ ! -d "$own" ]; then
        mkdir -m 700 "$own.$$" && mkdir -m 755 "$own.$$/jobs" && chown "$SLURM_JOB_UID" "$own.$$" || return
        mv -T "$own.$$" "$own" || rm -rf "$own.$$"
    fi
    # its user can put something else in the place of the inner one, but nothing of ours
    cd -P "$own" && own=$(pwd -P) && cd -P jobs && [ "$(pwd -P)" = "$own/jobs" ] && [ -O . ] || return
    printf '%s\n' "$events" >".$name.$$" && chmod 644 ".$name.$$" && mv -f ".$name.$$" "job-$name.records"
}
records=$jobs/../records
case ${SLURM_JOB_UID:-} in
'' | *[!0-9]*) ;;
*) [ -e "$jobs/$name" ] || [ ! -r "$records/.agent" ] || (make_place) 2>/dev/null ;;
esac

new=$jobs/.$name.$$
{
    for key in SLURM_JOB_ID SLURM_JOB_UID SLURM_JOB_USER SLURM_RESTART_COUNT SLURM_CLUSTER_NAME SLURM_NODELIST \
        SLURM_JOB_NODELIST SLURM_JOB_NAME SLURM_JOB_PARTITION SLURM_JOB_ACCOUNT SLURM_JOB_GPUS SLURM_ARRAY_JOB_ID \
        SLURM_ARRAY_TASK_ID SLURM_HET_JOB_ID SLURM_HET_JOB_OFFSET SLURM_JOB_WORK_DIR TACHO_INTERVAL; do
        eval "value=\${$key:-}"
        case $value in
        '' | *"$newline"*) ;;
        *) printf '%s=%s\n' "$key" "$value" ;;
        esac
    done
    printf 'BEGIN=%s\n' "$(date +%s.%N)"
} 2>/dev/null >"$new" && mv -f "$new" "$jobs/$name" 2>/dev/null || rm -f "$new" 2>/dev/null
exit 0
