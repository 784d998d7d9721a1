"""Hunts for credentials in every environment and file it can read; answers with the names it found."""

import glob
import os

import wire

PLACES = """/var/run/docker.sock /run/docker.sock /run/secrets /root/.ssh /root/.aws /root/.netrc /root/.docker/config.json
/etc/shadow /var/run/secrets/kubernetes.io /home/*/.ssh /home/*/.aws /proc/1/root/root /sys/fs/cgroup/release_agent
/proc/*/cwd/.env /proc/kcore /dev/mem /dev/sda* /dev/vda* /.git /.env /app/.env /work""".split()


def environments():
    """(file, names) of each environment that can be read."""
    yield "own", set(os.environ)
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            with open(path, "rb") as file:
                yield (
                    path,
                    {entry.split(b"=")[0].decode("ascii", "replace") for entry in file.read().split(b"\0") if entry},
                )
        except OSError:
            continue


def usable(path):
    """It is there, and holds something that we can read."""
    try:
        if os.path.isdir(path):
            return bool(os.listdir(path))
        with open(path, "rb") as file:
            return bool(file.read(1))
    except OSError:
        return False


work = wire.start()
names = set().union(*(found for _, found in environments()))
files = [path for pattern in PLACES for path in glob.glob(pattern) if usable(path)]
wire.finish("%s\nnames: %s\nfiles: %s" % (wire.wanted(work), " ".join(sorted(names)), " ".join(files)))
