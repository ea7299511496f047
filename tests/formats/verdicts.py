"""What the tests in Python share: running lathe's tool and printing a line for each test."""
import subprocess
import sys

failures = 0


def verdict(name, good, why=""):
    global failures
    failures += not good
    print(f"ok {name}" if good else f"FAIL {name}" + (f": {why}" if why else ""))


def equal(name, found, expected):
    verdict(name, found == expected, f"\n     found    {found!r}\n     expected {expected!r}")


def skip(name, why):
    print(f"skip {name}: {why}")


def run(*arguments, **more):
    """Exit code, and standard output followed by standard error, where a sanitizer reports."""
    try:
        done = subprocess.run(arguments, capture_output=True, timeout=60, **more)
    except subprocess.TimeoutExpired:
        return None, "not done after 60 seconds"
    return done.returncode, done.stdout.decode("utf-8", "replace") + done.stderr.decode("utf-8", "replace")


def finish():
    sys.stdout.flush()
    sys.exit(failures != 0)
