"""What this machine can do, measured beside the scenarios by `interlude doctor`."""

import json
import pathlib
import subprocess


def measure(binaries, folder):
    done = subprocess.run([binaries / "interlude", "doctor", "--dir", folder, "--json"], capture_output=True, text=True)
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}

    def value(check, key):
        return checks.get(check, {}).get("values", {}).get(key)

    return {"cpu": checks.get("cpu", {}).get("figure", ""), "kernel": checks.get("kernel", {}).get("figure", ""),
            "cores": value("cores", "usable"), "memory_bytes": memory_available(),
            "memcpy_bytes_per_s": value("codec and memory", "copy_bytes_per_s"),
            "disk_bytes_per_s": value("disk speed", "write_bytes_per_s")}


def memory_available():
    for line in pathlib.Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0


def memory_needed(scenario):
    """Of a run with a synthetic model: three arrays of the coordinator, two and payloads of each worker."""
    processes = 100e6 * (1 + scenario.workers)
    return scenario.parameters * (13 + 9.2 * scenario.workers) + processes
