#!/bin/bash
# slurm-lab.sh up|down FOLDER [PORT]   runs a whole Slurm on this machine, in a folder, without systemd and without root.
# slurm-lab.sh start FOLDER DAEMON     starts a daemon again: slurmctld, or slurmd-rig1 to slurmd-rig5
#
# Needs the Debian packages slurm-wlm and munge. A line of FOLDER/more.conf replaces the line of slurm.conf that has the same key. Most tests
# use the nodes rig1 and rig2. Tests of preemption use rig3 and rig4. One test kills rig4, and one fills rig5 with jobs. The GPUs are empty
# files, because slurmd checks only that the files exist.
set -euo pipefail
# Remove SLURM_CONF of the caller, because lab_pids would otherwise list this process, too.
[ -z "${SLURM_CONF:-}" ] || exec env -u SLURM_CONF "$BASH" "$0" "$@"
what=$1 dir=$(realpath -m "$2") host=$(hostname -s)
nodes='rig1 rig2 rig3 rig4 rig5'
# The PATH of unprivileged users lacks /usr/sbin.
export PATH=$PATH:/usr/sbin
# Slurm's commands must use this lab, and never a cluster that the machine belongs to.
export SLURM_CONF=$dir/slurm.conf

start() {
  case $1 in
    slurmctld) slurmctld -f "$SLURM_CONF" ;;
    *) slurmd -f "$SLURM_CONF" -N "${1#slurmd-}" ;;
  esac
}

# Prints the pids of the lab's processes: only they have its SLURM_CONF in their environment. A zombie has no environment.
lab_pids() (
  export -n SLURM_CONF
  grep -lzxF "SLURM_CONF=$SLURM_CONF" /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3 || true
)

case $what in
start) start "$3"; exit 0 ;;
down)
  timeout 5 scancel --me --state=PENDING 2>/dev/null || true
  timeout 5 scancel --me --full --signal=KILL 2>/dev/null || true
  for _ in $(seq 30); do [ -n "$(timeout 5 squeue -h 2>/dev/null)" ] || break; sleep 0.1; done
  # End the daemons and all processes that outlive them. Do not end processes by name, because other labs may run here.
  signal=TERM
  for round in $(seq 100); do
    left=$(lab_pids)
    [ -n "$left" ] || exit 0
    [ "$round" -le 30 ] || signal=KILL
    kill -$signal $left 2>/dev/null || true
    sleep 0.1
  done
  echo "These processes of the lab did not end: $left" >&2
  exit 1
  ;;
up) ;;
*) echo "usage: $0 up|down|start FOLDER [PORT|DAEMON]" >&2; exit 2 ;;
esac

port=$3
mkdir -p "$dir"/{state,spool,log,dev,secret}
chmod 755 "$dir"
chmod 700 "$dir/secret"
for i in 0 1 2 3 4 5 6 7 8 9; do : >"$dir/dev/gpu$i"; done
head -c 1024 /dev/urandom >"$dir/secret/munge.key"
chmod 600 "$dir/secret/munge.key"

cat >"$dir/slurm.conf" <<C
ClusterName=lab
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
AuthType=auth/munge
AuthInfo=socket=$dir/munge.sock
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool/%n
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd-%n.pid
SlurmctldLogFile=$dir/log/slurmctld.log
SlurmdLogFile=$dir/log/slurmd-%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SlurmctldTimeout=30
SlurmdTimeout=20
MessageTimeout=10
KillWait=5
MinJobAge=300
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_min_interval=100000
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
GresTypes=gpu
JobCompType=jobcomp/filetxt
JobCompLoc=$dir/log/jobcomp.txt
NodeName=rig[1-5] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + 5))] CPUs=64 RealMemory=64000 Gres=gpu:a100:2 Feature=a100-80gb State=UNKNOWN
PartitionName=gpu   Nodes=rig[1-2] Default=YES DefaultTime=10 MaxTime=INFINITE
PartitionName=short Nodes=rig[1-2] DefaultTime=1 MaxTime=1
PartitionName=down  Nodes=rig[1-2] State=DOWN
PartitionName=high  Nodes=rig3 PriorityTier=10
PartitionName=spot  Nodes=rig3 PriorityTier=1 PreemptMode=REQUEUE GraceTime=15
PartitionName=frail Nodes=rig4 PriorityTier=1 PreemptMode=REQUEUE GraceTime=2
PartitionName=rude  Nodes=rig4 PriorityTier=10
PartitionName=small Nodes=rig5
C
touch "$dir/more.conf"
while IFS== read -r key _; do sed -i "/^$key=/d" "$dir/slurm.conf"; done <"$dir/more.conf"
cat "$dir/more.conf" >>"$dir/slurm.conf"
cat >"$dir/gres.conf" <<C
NodeName=rig1 Name=gpu Type=a100 File=$dir/dev/gpu[0-1]
NodeName=rig2 Name=gpu Type=a100 File=$dir/dev/gpu[2-3]
NodeName=rig3 Name=gpu Type=a100 File=$dir/dev/gpu[4-5]
NodeName=rig4 Name=gpu Type=a100 File=$dir/dev/gpu[6-7]
NodeName=rig5 Name=gpu Type=a100 File=$dir/dev/gpu[8-9]
C
echo 'CgroupAutomount=no' >"$dir/cgroup.conf"

munged --force --key-file="$dir/secret/munge.key" --socket="$dir/munge.sock" --pid-file="$dir/munged.pid" \
  --log-file="$dir/log/munged.log" --seed-file="$dir/secret/seed"
start slurmctld
for n in $nodes; do
  mkdir -p "$dir/spool/$n"
  start "slurmd-$n"
done
for _ in $(seq 150); do
  [ "$(sinfo -h -N -o %T 2>/dev/null | sort -u)" != idle ] || exit 0
  sleep 0.1
done
echo 'The nodes are not idle after 15 s:' >&2
sinfo -N -l >&2
tail -n 5 "$dir"/log/*.log >&2
exit 1
