"""Known vulnerabilities of the packages that the service runs with, by pip-audit, which asks the package index.

Ends with 0 where every package was audited and none has a known vulnerability, 1 where one has, and 3 where the index
gave no answer for some package: what was not audited is not called clean.

    python tools/audit_deps.py ENVIRONMENT TOOLS    # virtual environments: what is audited, and where pip-audit is
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

PURELIB = "import sysconfig; print(sysconfig.get_path('purelib'))"


def main(environment: Path, tools: Path) -> int:
    where = subprocess.run([environment / "bin" / "python", "-c", PURELIB],
                           capture_output=True, text=True, check=True).stdout.strip()
    ended = subprocess.run(
        [tools / "bin" / "pip-audit", "--path", where, "--progress-spinner", "off", "--format", "json"],
        capture_output=True, text=True, check=False)
    try:
        packages = [one for one in json.loads(ended.stdout)["dependencies"] if one["name"] != "discreet"]
    except (ValueError, KeyError):
        print(f"nothing was audited: pip-audit ended with {ended.returncode}; it needs the index", file=sys.stderr)
        return 3
    bad = [one for one in packages if one.get("vulns")]
    skipped = [one["name"] for one in packages if "skip_reason" in one]
    for one in bad:
        print(f"{one['name']} {one['version']}: {', '.join(found['id'] for found in one['vulns'])}")
    print(f"{len(packages) - len(skipped)} of {len(packages)} packages audited, {len(bad)} with known vulnerabilities"
          + (f"; no answer for {len(skipped)}, such as {skipped[0]}" if skipped else ""))
    return 1 if bad else 3 if skipped else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
