#!/usr/bin/env bash
# Installs and starts a Slurm of one node on this machine: Debian, as root. Starting it twice changes nothing.
set -euo pipefail

if ! command -v slurmctld slurmd munged > /dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends slurmctld slurmd slurm-client munge > /dev/null
fi

NODE=$(hostname -s)
mkdir -p /etc/slurm /var/spool/slurmctld /var/spool/slurmd /var/log/slurm /run/munge
cat > /etc/slurm/slurm.conf << EOF
ClusterName=tests
SlurmctldHost=$NODE(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
# A requeued job waits for its old credential to expire.
AuthInfo=cred_expire=5
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
SlurmctldLogFile=/var/log/slurm/slurmctld.log
SlurmdLogFile=/var/log/slurm/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,batch_sched_delay=1
JobRequeue=1
ReturnToService=2
MpiDefault=none
KillWait=10
MinJobAge=3600
NodeName=$NODE NodeAddr=127.0.0.1 CPUs=$(nproc) RealMemory=$(awk '/MemTotal/ {print int($2 / 1024 * 0.9)}' /proc/meminfo) State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
EOF

# There is no accounting database, which sacct reads: the controller knows the same of the jobs it still remembers.
install -m 755 "$(dirname "$0")/sacct" /usr/local/bin/sacct

if [ ! -s /etc/munge/munge.key ]; then
    dd if=/dev/urandom of=/etc/munge/munge.key bs=1 count=1024 status=none
fi
chown -R munge: /etc/munge /run/munge /var/lib/munge /var/log/munge
chmod 400 /etc/munge/munge.key
pgrep -x munged > /dev/null || runuser -u munge -- /usr/sbin/munged
pgrep -x slurmctld > /dev/null || slurmctld
pgrep -x slurmd > /dev/null || slurmd

for _ in $(seq 60); do
    if [ "$(sinfo --noheader --format=%T 2> /dev/null)" = idle ]; then
        exit 0
    fi
    sleep 1
done
echo "Slurm did not come up:" >&2
sinfo --long >&2 || true
tail -n 20 /var/log/slurm/*.log >&2
exit 1
