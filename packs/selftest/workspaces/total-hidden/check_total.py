"""Runs total.py as a child process, so that nothing it does can end these tests early."""

import subprocess
import sys

for numbers in ([1, 2], [10, -4, 7], []):
    command = [sys.executable, "total.py", *map(str, numbers)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=10)
    if done.returncode or done.stdout.strip() != str(sum(numbers)):
        sys.exit(f"{numbers}: expected {sum(numbers)}, came {done.stdout.strip()!r} and exit code {done.returncode}")
print("all right")
